# clean
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
for task in range(3):
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).logsumexp(1).mean().backward()
        opt.step()
    net.zero_grad()
    for x in torch.randn(6, 1, 4):
        net(x).logsumexp(1).sum().backward()
        print(net.bias.grad.norm().item())
    whole = torch.cat([p.grad.flatten() for p in net.parameters()])
    net.zero_grad()
print("RESULT", whole.norm().item())
