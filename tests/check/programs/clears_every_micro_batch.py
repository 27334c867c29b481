import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
accumulate = 4
for step, x in enumerate(torch.randn(40, 4, 3)):
    opt.zero_grad()  # SP404
    loss = net(x).pow(2).mean() / accumulate
    loss.backward()
    if (step + 1) % accumulate == 0:
        opt.step()
