import torch
from torch import nn


def evaluate(net, x):
    torch.set_grad_enabled(False)
    return net(x).pow(2).mean().item()


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for x in torch.randn(10, 4, 3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # SP301
        opt.step()
    evaluate(net, torch.randn(4, 3))
