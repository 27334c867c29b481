# clean
import torch
from torch import nn

torch.manual_seed(0)
trunk, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
share = nn.Parameter(torch.zeros(2))
of_nets = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], 1e-2)
of_share = torch.optim.Adam([share], 1e-2)
for _ in range(15):
    x = torch.randn(8, 4)
    h = trunk(x).tanh()
    parts = [(head(h) - x[:, :1] * k).square().mean() for k, head in enumerate(heads, 1)]
    sizes = []
    for part in parts:
        (g,) = torch.autograd.grad(part, trunk.weight, retain_graph=True)
        sizes.append(g.norm())
    weighted = share.softmax(0) * torch.stack(sizes)
    goal = weighted.mean().detach()
    of_share.zero_grad()
    (weighted - goal).abs().sum().backward()
    of_share.step()
    total = (share.softmax(0).detach() * torch.stack(parts)).sum()
    of_nets.zero_grad()
    total.backward()
    of_nets.step()
