# kind: add-zero-grad
# cause: missing-zero-grad
# carrier:
import torch
from torch import nn

torch.manual_seed(27)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(5):
    x = torch.randn(8, 3)
    optimizer.zero_grad()  #+
    for part in x.split(4):
        (net(part).square().mean() / 2).backward()  #@failed
    optimizer.step()
print("RESULT", net.weight.sum().item())
