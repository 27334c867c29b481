# crossed-networks: joint; recompute reorder detach
import torch
from torch import nn
torch.manual_seed(0)
def mlp(i, o): return nn.Sequential(nn.Linear(i, 8), nn.ReLU(), nn.Linear(8, o))
pols = [mlp(3, 2) for _ in range(3)]
qs = [mlp(9, 1) for _ in range(3)]
popts = [torch.optim.Adam(p.parameters(), 1e-2) for p in pols]
for rnd in range(4):
    obs = torch.randn(10, 3)
    plans = [p(obs) for p in pols]  #! built
    joint = torch.cat(plans, 1)  #! built
    for q, o in zip(qs, popts):
        gain = q(torch.cat([obs, joint], 1)).mean()
        o.zero_grad()
        (-gain).backward()  #! freed failed
        o.step()
print("RESULT", gain.item())
