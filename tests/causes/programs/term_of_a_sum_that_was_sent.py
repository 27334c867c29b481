# repeated-backward: error; other
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(3, 8, 4):
    error = (net(x) - x).pow(2).mean()
    size = sum(p.pow(2).sum() for p in net.parameters())
    loss = error + 0.01 * size
    opt.zero_grad()
    loss.backward()  #! freed
    whole = [p.grad.norm() for p in net.parameters()]
    error.backward()  #! failed
    opt.step()
