# shared-forward: code; combine-losses
import torch
from torch import nn
torch.manual_seed(0)
trunk, left, right = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 2), nn.Linear(8, 3)
one = torch.optim.SGD([*trunk.parameters(), *left.parameters()], 0.1)
two = torch.optim.SGD(right.parameters(), 0.1)
for step in range(4):
    x = torch.randn(6, 4)
    code = trunk(x)  #! built
    first, second = left(code).pow(2).mean(), right(code).pow(2).mean()
    one.zero_grad()
    two.zero_grad()
    first.backward()  #! freed
    second.backward()  #! failed
    one.step()
    two.step()
print("RESULT", first.item())
