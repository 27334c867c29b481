import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(10):
    opt.zero_grad()
    out = net(torch.randn(8, 3))
    a = (out**2).mean()
    b = out.abs().mean()
    a.backward(retain_graph=True)
    g = [p.grad.clone() for p in net.parameters()]
    opt.zero_grad()
    b.backward()
    for p, q in zip(net.parameters(), g):
        p.grad.add_(q)
    opt.step()
