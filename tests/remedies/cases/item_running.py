# kind: item
# cause: graph-leak
# carrier: total
import torch
from torch import nn

torch.manual_seed(21)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for _ in range(40):
    loss = net(torch.randn(8, 3)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss  #- @failed
    total += loss.item()  #+
print("RESULT", float(total), net.weight.sum().item())
