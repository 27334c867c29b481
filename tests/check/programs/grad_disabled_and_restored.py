import torch
from torch import nn


def evaluate(net, x):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    found = net(x).pow(2).mean().item()
    torch.set_grad_enabled(before)
    return found


def predict(net, x, train):
    with torch.set_grad_enabled(train):
        return net(x)


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for x in torch.randn(10, 4, 3):
        predict(net, x, False)
        loss = predict(net, x, True).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    evaluate(net, torch.randn(4, 3))
