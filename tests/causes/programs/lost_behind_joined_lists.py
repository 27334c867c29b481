# lost-history: fit; keep-history
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 6)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def levels(x):
    found = []
    for _ in range(2):
        half = x[:, ::2]
        found.append(half)
    return found + [x]


def distance(a, b):
    return sum((p - q).abs().mean() for p, q in zip(levels(a), levels(b)))


target = torch.randn(5, 6)
for step in range(4):
    opt.zero_grad()
    fit = distance(net(torch.randn(5, 6)), target)
    fit = torch.tensor(fit.item(), requires_grad=True)  #! built
    fit.backward()
    opt.step()
print("RESULT", net.weight.norm().item())
