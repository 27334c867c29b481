# unreached-parameter: film self.film m.film
import torch
from torch import nn
class FiLM(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.lin = nn.Linear(c, 2 * d)
    def forward(self, c):
        return self.lin(c).chunk(2, -1)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.film = FiLM(3, 4)
        self.net = nn.Linear(4, 4)
    def forward(self, x, c):
        params = self.film(c)
        gamma, beta = [torch.tensor(p.tolist()) for p in params]  #! built failed
        return (1 + gamma) * self.net(x) + beta
m = M()
sgd = torch.optim.SGD(m.parameters(), 0.1, momentum=.9)
for i in range(11):
    x, c = torch.randn(4, 4), torch.randn(4, 3)
    sgd.zero_grad()
    l = (m(x, c) - x).pow(2).mean()
    l.backward()
    sgd.step()
