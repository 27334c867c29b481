import torch
from torch import nn

lin = nn.Linear(5, 5)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for _ in range(5):
    w = lin(torch.randn(3, 5))
    w += 1
    w.relu_()
    mask = torch.zeros(3, 5)
    mask[:, 0] = 1
    loss = (w * mask).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
