import torch
from torch import nn

lin = nn.Linear(5, 5)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for _ in range(5):
    w = lin(torch.randn(3, 5)).exp()
    w /= w.sum(1, keepdim=True)
    loss = (w * torch.arange(5.0)).sum()
    opt.zero_grad()
    loss.backward()  # SP202
    opt.step()
