# clean
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
weights = {"a": 1.0, "b": 1.0}
for it in range(10):
    x = torch.randn(8, 4)
    out = net(x)
    parts = {"a": (out[:, 0] - x[:, 0]).pow(2).mean(), "b": (out[:, 1] - x[:, 1]).pow(2).mean()}
    total = sum(weights[k] * v for k, v in parts.items())
    margin = max(float(v) for v in parts.values())
    loss = total + 0.0 * margin
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean = sum(v.item() for v in parts.values()) / 2
    weights = {k: v.item() / mean for k, v in parts.items()}
print("RESULT", loss.item())
