# unreached-parameter: net.extra
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.extra = nn.Linear(3, 3)  #! failed
        self.b = nn.Linear(3, 1)
    def forward(self, x):
        return self.b(self.a(x).relu())
net = Net()
opt = torch.optim.SGD(net.parameters(), .1)
for i in range(10):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
