# repeated-backward: y; other recompute
import torch
from torch import nn
torch.manual_seed(2)
f = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(f.parameters(), .1)
x = torch.randn(9, 4)
for _ in range(2):
    y = (f(x) - 1).pow(2)  #! built
    opt.zero_grad()
    y.sum().backward()  #! freed
    gn = nn.utils.clip_grad_norm_(f.parameters(), 1.)
    y.sum().backward()  #! failed
    opt.step()
print("RESULT", y.sum().item())
