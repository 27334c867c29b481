# shared-forward: shared; retain-graph combine-losses
import torch
from torch import nn
torch.manual_seed(2)
base, ta, tb = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)
ps = list(base.parameters())
opt = torch.optim.SGD(ps + [*ta.parameters(), *tb.parameters()], .1)
for i in range(3):
    shared = torch.tanh(base(torch.randn(7, 4)))  #! built
    la, lb = ta(shared).pow(2).mean(), (tb(shared) - 1).pow(2).mean()
    ga = torch.autograd.grad(la, ps)  #! freed
    gb = torch.autograd.grad(lb, ps)  #! failed
    for p, u, v in zip(ps, ga, gb):
        dot = (u * v).sum()
        p.grad = u + v if dot > 0 else v - dot / (u * u).sum().clamp_min(1e-9) * u
    opt.step()
print("RESULT", float(lb))
