# kind: recompute
# cause: stored-history
# carrier: self._prior
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(2, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self._prior = None

    def prior(self):
        if self._prior is None:  #-
            self._prior = (self.scale.exp() * 0.1).square().sum()  #- @built
        self._prior = (self.scale.exp() * 0.1).square().sum()  #+
        return self._prior

    def forward(self, x):
        return (self.base(x) * self.scale).sum(1)


torch.manual_seed(11)
m = Model()
opt = torch.optim.SGD(m.parameters(), lr=0.05)
for _ in range(4):
    loss = m(torch.randn(6, 2)).square().mean() + m.prior()
    opt.zero_grad()
    loss.backward()  #@failed @freed
    opt.step()
print("RESULT", loss.item(), m.scale.sum().item())
