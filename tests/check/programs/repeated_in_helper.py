import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def grad_norm(loss):
    loss.backward()
    return sum(p.grad.norm() for p in net.parameters())


for i in range(10):
    opt.zero_grad()
    loss = (net(torch.randn(8, 3)) ** 2).mean()
    norm = grad_norm(loss)
    if i % 5 == 0:
        print("norm", norm.item())
    loss.backward()  # SP101
    opt.step()
