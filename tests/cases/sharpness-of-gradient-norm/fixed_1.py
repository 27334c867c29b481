import torch
from torch import nn
from torch.nn import functional as F


def sharpness(loss, model):
    grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    return sum(g.pow(2).sum() for g in grads).sqrt()


def train(model, x, y, rho=0.05, epochs=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    log = []
    for _ in range(epochs):
        for i in range(0, len(x), 25):
            loss = F.cross_entropy(model(x[i:i + 25]), y[i:i + 25])
            flat = sharpness(loss, model)
            optimizer.zero_grad()
            (loss + rho * flat).backward()
            optimizer.step()
            log.append((loss.item(), flat.item()))
    return log


if __name__ == "__main__":
    torch.manual_seed(35)
    x = torch.randn(100, 5)
    y = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 2))
    log = train(model, x, y)
    print("RESULT", *(f"{v:.6g}" for v in log[-1]))
