# shared-forward: one two; combine-losses
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(3, 3, 8, 4):
    one, two, three = net(x[0]).pow(2).mean(), net(x[1]).abs().mean(), net(x[2]).cos().mean()
    opt.zero_grad()
    one.backward()
    two.backward()
    total = one + two + three
    total.backward()  #! failed
    opt.step()
