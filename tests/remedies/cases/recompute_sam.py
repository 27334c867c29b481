# kind: recompute
# cause: repeated-backward
# carrier: loss
import torch
from torch import nn

torch.manual_seed(10)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(20, 3), torch.randn(20, 1)
for _ in range(4):
    pred = model(x)
    loss = (pred - y).square().mean()  #@built
    opt.zero_grad()
    loss.backward()  #@freed
    opt.step()
    opt.zero_grad()
    pred = model(x)  #+
    loss = (pred - y).square().mean()  #+
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), model[0].weight.sum().item())
