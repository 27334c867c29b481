"""What is put under a key that cannot be told is there all the same: the loss has history."""

import torch
from torch import nn

net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
shelves = {k: [] for k in range(3)}


def loss_of(codes, labels):
    total = codes.new_zeros(())
    for code, label in zip(codes, labels.tolist()):
        others = [c for k, row in shelves.items() if k != label for c in row]
        if not others:
            continue
        total = total + (torch.stack(others) @ code).exp().sum()
    return total


for _ in range(20):
    codes, labels = net(torch.randn(6, 4)), torch.randint(0, 3, (6,))
    if all(shelves.values()):
        loss = loss_of(codes, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for code, label in zip(codes.detach(), labels.tolist()):
        shelves[label].append(code)
