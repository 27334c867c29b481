# missing-create-graph: found; create-graph
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
weights = list(net.parameters())
opt = torch.optim.Adam(weights, 1e-3)
places = [torch.randn(16, 3) + shift for shift in (0.0, 1.0, 2.0)]
for _ in range(12):
    found, risk = [], 0.0
    for x in places:
        one = (net(x) - x.sum(1, keepdim=True)).square().mean()
        risk = risk + one
        found.append(torch.autograd.grad(one, weights, retain_graph=True))  #! built failed
    apart = 0.0
    for parts in zip(*found):
        together = torch.stack(parts)
        apart = apart + (together - together.mean(0)).square().sum()
    goal = risk + 0.1 * apart
    opt.zero_grad()
    goal.backward()
    opt.step()
