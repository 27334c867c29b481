# unreached-parameter: self.gate m.gate
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.gate = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        g = torch.sigmoid(self.gate(x))  #! failed
        return torch.relu(self.v(x))  #! failed
m = M()
opt = torch.optim.SGD(m.parameters(), .1)
for i in range(10):
    x = torch.randn(4, 3)
    loss = (m(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
