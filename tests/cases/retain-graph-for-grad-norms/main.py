import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(47)
trunk = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
x = torch.randn(64, 6)
targets = [10 * x[:, :1], 0.1 * x[:, 1:2]]
for it in range(25):
    h = trunk(x)
    losses = [F.mse_loss(head(h), t) for head, t in zip(heads, targets)]
    norms = [torch.autograd.grad(l, trunk[0].weight, retain_graph=True)[0].norm() for l in losses]
    scale = [sum(norms) / (2 * n + 1e-8) for n in norms]
    opt.zero_grad()
    sum(s * l for s, l in zip(scale, losses)).backward()
    opt.step()
print("RESULT", *(f"{l.item():.6g}" for l in losses))
