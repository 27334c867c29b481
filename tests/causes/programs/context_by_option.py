# lost-history: z
import contextlib
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, tune=False):
        super().__init__()
        self.body, self.tune = nn.Linear(3, 3), tune
    def forward(self, x):
        ctx = contextlib.nullcontext() if self.tune else torch.no_grad()  #! built
        with ctx:  #! built
            z = self.body(x)
        return z.sum(-1)
model = Model()
opt = torch.optim.SGD(model.parameters(), .1)
for _ in range(2):
    x = torch.randn(4, 3)
    loss = (model(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #! failed
    opt.step()
