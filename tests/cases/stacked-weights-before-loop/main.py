import torch
import torch.nn.functional as F

GROUPS = {"age": 3, "dose": 2, "site": 4}


def trial(n):
    x = torch.randn(n, sum(GROUPS.values()))
    return x, x @ torch.linspace(-1, 1, x.size(1)) + 0.1 * torch.randn(n)


def fit(x, y, steps=60, lr=0.05):
    groups = {name: torch.zeros(size, requires_grad=True) for name, size in GROUPS.items()}
    optimizer = torch.optim.SGD(groups.values(), lr=lr)
    weights = torch.cat(list(groups.values()))
    losses = []
    for step in range(steps):
        idx = torch.arange(step % 4, len(x), 4)
        loss = F.mse_loss(x[idx] @ weights, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return groups, losses


if __name__ == "__main__":
    torch.manual_seed(37)
    groups, losses = fit(*trial(120))
    print("first", losses[0], "last", losses[-1])
    print("RESULT", f"{losses[-1]:.6g}", *(f"{g.abs().sum().item():.6g}" for g in groups.values()))
