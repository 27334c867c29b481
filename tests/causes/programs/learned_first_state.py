# carried-state: h; detach
import torch
from torch import nn
torch.manual_seed(0)
cell, o = nn.GRUCell(3, 4), nn.Linear(4, 1)
h0 = nn.Parameter(torch.zeros(1, 4))
opt = torch.optim.SGD([h0, *cell.parameters(), *o.parameters()], .1)
for doc in torch.randn(3, 5, 2, 3):
    h = h0.expand(2, -1)
    for x in doc:
        h = cell(x, h)  #! built
        loss = o(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()  #! freed failed
        opt.step()
print("RESULT", loss.item())
