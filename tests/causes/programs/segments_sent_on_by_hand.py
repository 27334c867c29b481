# clean
import torch
from torch import nn
torch.manual_seed(0)
cell, first = nn.RNNCell(2, 3), nn.Parameter(torch.zeros(1, 3))
opt = torch.optim.SGD([*cell.parameters(), first], 0.1)
for epoch in range(5):
    opt.zero_grad()
    start = first.tanh()
    h, entries, exits = start, [], []
    for segment in torch.randn(4, 2, 1, 2):
        h = h.detach().requires_grad_()
        entries.append(h)
        for x in segment:
            h = cell(x, h)
        exits.append((h.pow(2).mean(), h))
    into = torch.zeros(1, 3)
    while exits:
        (loss, leave), entry = exits.pop(), entries.pop()
        torch.autograd.backward([loss, leave], [None, into])
        into = entry.grad
    start.backward(into)
    opt.step()
print("RESULT", first.sum().item())
