# unreached-parameter: net.spread; keep-history
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.middle, self.spread = nn.Linear(4, 2), nn.Linear(4, 2)
    def forward(self, x):
        return self.middle(x), self.spread(x)
def fit_of(middle, spread, y):
    near = (middle - y).pow(2).sum(1)  #! failed
    return near.mean()  #! failed
net = Net()
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(6, 8, 4):
    middle, spread = net(x)
    loss = fit_of(middle, spread, x[:, :2])
    opt.zero_grad()
    loss.backward()
    opt.step()
