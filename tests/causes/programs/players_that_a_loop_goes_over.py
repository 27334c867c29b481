# crossed-networks: fake; detach
import torch
from torch import nn
maker, judges = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
opt_m, opt_j = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judges.parameters())
for x in torch.randn(3, 8, 4):
    fake = maker(x).tanh()  #! built
    opt_m.zero_grad()
    judges[0](fake).mean().backward()  #! freed
    opt_m.step()
    opt_j.zero_grad()
    for judge in judges:
        (judge(fake) - judge(x)).tanh().mean().backward()  #! failed
    opt_j.step()
