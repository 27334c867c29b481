import torch
from torch import nn


def train(net, data, epochs):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        for x in data:
            loss = net(x).pow(2).mean()
            loss.backward()  # SP403
            opt.step()


train(nn.Linear(3, 1), torch.randn(10, 4, 3), 2)
