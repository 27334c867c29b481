# unreached-parameter: self.regulariser net.regulariser
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.regulariser = nn.Linear(3, 1)
    def forward(self, x):
        z = self.a(x)
        return z, self.regulariser(z).pow(2).mean()
net = Net()
opt = torch.optim.SGD(net.parameters(), 1e-2)
def objective(batch):
    z, _ = net(batch)  #! failed
    return (z - 1).pow(2).mean()  #! failed
for b in torch.randn(12, 4, 3):
    loss = objective(b)
    opt.zero_grad()
    loss.backward()  #! failed
    opt.step()
