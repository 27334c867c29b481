# clean
import torch
from torch import nn

torch.manual_seed(0)
trunk, head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)
slow = torch.optim.SGD(trunk.parameters(), 0.1)
fast = torch.optim.SGD(head.parameters(), 0.1)
for turn in range(24):
    x = torch.randn(6, 4)
    if turn % 2:
        (head(trunk(x)) - x[:, :1]).abs().mean().backward()
    else:
        (head(trunk(x)) - x[:, :1]).square().mean().backward()
    fast.step()
    fast.zero_grad()
    if turn % 4 == 3:  # four batches for each of its steps
        slow.step()
        slow.zero_grad()
