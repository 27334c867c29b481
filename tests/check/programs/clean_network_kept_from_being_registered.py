import torch
from torch import nn


class Painter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)
        self.judge = [nn.Sequential(nn.Linear(8, 8), nn.ReLU())]  # a list, so that it is neither trained nor saved

    def forward(self, x):
        return self.layer(x)

    def features(self, x):
        return self.judge[0](x)


torch.manual_seed(0)
net = Painter()
opt = torch.optim.Adam(net.parameters(), 1e-2)
x, y = torch.randn(64, 3), torch.randn(64, 8)
for _ in range(20):
    loss = (net.features(net(x)) - net.features(y)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
