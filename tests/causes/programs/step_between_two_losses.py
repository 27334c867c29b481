# shared-forward: rep; reorder recompute
import torch
from torch import nn
torch.manual_seed(2)
enc = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
h1, h2 = nn.Linear(6, 2), nn.Linear(6, 1)
opt = torch.optim.Adam([*enc.parameters(), *h1.parameters(), *h2.parameters()])
for i in range(3):
    x = torch.randn(8, 4)
    rep = enc(x)  #! built
    cls = nn.functional.cross_entropy(h1(rep), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    cls.backward()  #! freed
    opt.step()
    reg = (h2(rep) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    reg.backward()  #! failed
    opt.step()
print("RESULT", reg.item())
