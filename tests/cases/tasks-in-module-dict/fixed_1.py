import torch
from torch import nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self, tasks, dim=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(dim, n) for name, n in tasks.items()})

    def forward(self, x):
        features = self.trunk(x)
        return {name: head(features) for name, head in self.heads.items()}


def data(n):
    x = torch.randn(n, 8)
    return x, {"digit": (x[:, :4].argmax(1)), "sign": (x[:, 0] > 0).long(), "angle": x[:, 4:6].tanh()}


def criteria(task, out, target):
    return F.mse_loss(out, target) if task == "angle" else F.cross_entropy(out, target)


def fit(model, x, targets, weights, epochs=4, batch=25):
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            outputs = model(x[idx])
            losses = {task: criteria(task, outputs[task], targets[task][idx]) for task in weights}
            sum(weights[task] * loss for task, loss in losses.items()).backward()
            optimizer.step()
        print(epoch, {k: round(v.item(), 3) for k, v in losses.items()})
    return losses


torch.manual_seed(7)
weights = {"digit": 1.0, "sign": 0.5, "angle": 2.0}
net = MultiTask({"digit": 4, "sign": 2, "angle": 2})
final = fit(net, *data(200), weights)
print("RESULT", *(f"{v.item():.6g}" for v in final.values()), f"{net.trunk[0].weight.abs().sum().item():.6g}")
