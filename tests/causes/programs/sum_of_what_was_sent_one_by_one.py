# repeated-backward: total one two; other
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(3, 2, 8, 4):
    one, two = net(x[0]).pow(2).mean(), net(x[1]).abs().mean()
    opt.zero_grad()
    one.backward()
    two.backward()
    total = one + two
    total.backward()  #! failed
    opt.step()
