# repeated-backward: out; other
import torch
from torch import nn
from torch.nn import functional as F
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(net.parameters(), 0.1)
for target in torch.randint(3, (3, 8)):
    out = net(torch.randn(8, 4))
    opt.zero_grad()
    F.cross_entropy(out, target).backward()  #! freed
    norm = net[0].weight.grad.norm()
    again = F.cross_entropy(out, target)
    again.backward()  #! failed
    opt.step()
