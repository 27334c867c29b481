import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
total, every = 0, 4
for step, x in enumerate(torch.randn(30, 4)):
    total = total + (net(x) - 1).pow(2).sum()
    if (step + 1) % every == 0:
        opt.zero_grad()
        total.backward()
        opt.step()
        total = 0
