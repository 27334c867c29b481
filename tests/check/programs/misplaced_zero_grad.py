import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(10, 4, 3):
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.zero_grad()  # SP404
    opt.step()
