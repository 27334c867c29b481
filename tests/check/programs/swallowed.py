import torch
from torch import nn

cell = nn.RNNCell(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 4)
for x in torch.randn(10, 1, 3):
    h = cell(x, h)
    loss = h.pow(2).mean()
    opt.zero_grad()
    try:
        loss.backward()  # SP407
    except RuntimeError:
        continue
    opt.step()
