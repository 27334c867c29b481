# silent-reuse: size; recompute
import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
for epoch in range(5):
    size = sum(p.mean() for p in net.parameters())  #! built
    for x in torch.randn(3, 8, 4):
        loss = net(x).pow(2).mean() + 0.1 * size.pow(2)
        opt.zero_grad()
        loss.backward()  #! failed
        opt.step()
