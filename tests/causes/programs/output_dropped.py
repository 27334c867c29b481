# unreached-parameter: norm net.norm self.norm
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        self.norm(x)  #! failed
        return x + self.fc(x)  #! failed
net = Block()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(12):
    x = torch.randn(3, 6)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
