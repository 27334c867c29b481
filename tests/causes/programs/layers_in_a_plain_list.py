# unreached-parameter: net.blocks; other
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.into = nn.Linear(3, width)
        self.blocks = [nn.Linear(width, width) for _ in range(depth)]  #! failed
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.into(x)
        for block in self.blocks:
            h = torch.tanh(block(h))
        return self.out(h)


torch.manual_seed(0)
net = Stack(8, 3)
opt = torch.optim.Adam(net.parameters(), 1e-2)
x = torch.randn(64, 3)
for _ in range(20):
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
