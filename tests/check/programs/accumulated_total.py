import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
total = 0
for step, x in enumerate(torch.randn(30, 4)):
    total = total + (net(x) - 1).pow(2).sum()
    opt.zero_grad()
    total.backward()  # SP105
    opt.step()
