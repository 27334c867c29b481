# clean
import torch
from torch import nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), .1)
best = float("inf")
for _ in range(10):
    l = net(torch.randn(5, 4)).pow(2).mean()
    best = min(best, l.item())
    obj = l - l.item() + 1.0
    opt.zero_grad(); obj.backward(); opt.step()
