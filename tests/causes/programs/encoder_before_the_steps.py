# carried-state: h; other recompute combine-losses
import torch
from torch import nn
torch.manual_seed(0)
enc = nn.GRU(3, 4, batch_first=True)
cell, o = nn.GRUCell(3, 4), nn.Linear(4, 3)
opt = torch.optim.SGD([*enc.parameters(), *cell.parameters(), *o.parameters()], .1)
for src, dst in zip(torch.randn(3, 2, 5, 3), torch.randn(3, 2, 4, 3)):
    _, h = enc(src)
    h = h[0]
    tok = torch.zeros(2, 3)
    for t in range(4):
        h = cell(tok, h)  #! built
        loss = (o(h) - dst[:, t]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  #! freed failed
        opt.step()
        tok = dst[:, t]
print("RESULT", loss.item())
