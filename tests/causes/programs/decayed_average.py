# carried-state: smooth; detach
import torch
from torch import nn
torch.manual_seed(2)
f = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(f.parameters(), .1)
smooth = torch.tensor(0.)
for n in range(4):
    err = (f(torch.randn(9, 4)) - .3).pow(2).mean()
    smooth = .8 * smooth + .2 * err  #! built
    opt.zero_grad()
    smooth.backward()  #! freed failed
    opt.step()
print("RESULT", smooth.item())
