# lost-history: x out y
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
    def forward(self, x):
        return torch.tanh(self.lin(x))

class Out(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = 3.0
    def forward(self, x):
        y = x.data  #! built
        return self.scale * y.mean(-1)

net = nn.Sequential(Block(5), Block(5), Out(5))
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(3):
    inp = torch.randn(4, 5)
    out = net(inp)
    l = (out - 1).abs().mean()
    opt.zero_grad()
    l.backward()  #! failed
    opt.step()
