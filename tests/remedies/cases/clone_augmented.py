# kind: clone
# cause: inplace-change
# carrier: h
import torch
from torch import nn

torch.manual_seed(17)
a, b = nn.Linear(3, 3), nn.Linear(3, 3)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for _ in range(4):
    h = torch.sigmoid(a(torch.randn(5, 3)))  #@built
    h += b(h)  #- @freed
    h *= 2 - 1  #-
    h = h + b(h)  #+
    h = h * (2 - 1)  #+
    loss = h.square().mean()
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), a.weight.sum().item())
