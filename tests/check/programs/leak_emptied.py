import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for i, x in enumerate(torch.randn(64, 3)):
    losses.append(net(x).pow(2).mean())
    if len(losses) == 8:
        opt.zero_grad()
        torch.stack(losses).mean().backward()
        opt.step()
        losses = []
