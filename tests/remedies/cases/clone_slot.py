# kind: clone
# cause: inplace-change
# carrier: x
import torch
from torch import nn

torch.manual_seed(18)
lin = nn.Linear(4, 4)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)


def refine(x, steps=3):
    for i in range(steps):
        y = torch.tanh(x) * x  #@built
        x = x.clone()  #+
        x[:, i] += y.sum(1)  #@freed
    return x


for _ in range(4):
    loss = refine(lin(torch.randn(6, 4))).square().mean()
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), lin.weight.sum().item())
