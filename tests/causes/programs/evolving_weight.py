# carried-state: W; other recompute
import torch
from torch import nn
torch.manual_seed(2)
W0 = nn.Parameter(torch.randn(4, 4) * .3)
evolve = nn.GRUCell(4, 4)
opt = torch.optim.SGD([W0, *evolve.parameters()], .1)
W = W0
for t in range(4):
    W = evolve(W, W)  #! built
    loss = (torch.randn(6, 4) @ W).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
print("RESULT", loss.item())
