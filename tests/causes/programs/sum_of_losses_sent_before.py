# accumulated-loss: total; item other detach combine-losses
import torch
from torch import nn
torch.manual_seed(2)
f = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(f.parameters(), .1)
total = 0.
for n in range(6):
    loss = (f(torch.randn(9, 4)) - .3).pow(2).mean()  #! built
    opt.zero_grad()
    loss.backward()  #! freed
    opt.step()
    total = total + loss  #! built
    if n % 3 == 2:
        (total / 3).backward()  #! failed
        opt.step()
        total = 0.
print("RESULT", loss.item())
