import torch
import torch.nn.functional as F


def clusters(n, k, dim):
    centres = 2 * torch.randn(k, dim)
    y = torch.randint(k, (n,))
    return centres[y] + torch.randn(n, dim), y


def fit(x, y, k, steps=60, lr=0.02):
    classes = (0.1 * torch.randn(k, x.size(1))).requires_grad_()
    optimizer = torch.optim.SGD([classes], lr=lr)
    centre = classes.mean(0)
    losses = []
    for step in range(steps):
        idx = torch.arange(step % 4, len(x), 4)
        scores = x[idx] @ (classes - centre).t()
        loss = F.mse_loss(scores, F.one_hot(y[idx], k).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return classes.detach(), losses


if __name__ == "__main__":
    torch.manual_seed(37)
    classes, losses = fit(*clusters(120, 4, 6), k=4)
    print("RESULT", f"{losses[-1]:.6g}", f"{classes.mean(0).norm().item():.6g}")
