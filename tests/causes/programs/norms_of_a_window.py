# clean
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
norms = []
for task in range(4):
    opt.zero_grad()
    for x in torch.randn(6, 1, 4):
        net(x).logsumexp(1).sum().backward()
        norms.append(sum(p.grad.norm().item() for p in net.parameters()))
    opt.step()
print("RESULT", sum(norms))
