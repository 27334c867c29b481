import torch
from torch import nn

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(6, 20), nn.Sigmoid(), nn.Linear(20, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
norms = []

for step in range(8):
    x = torch.randn(32, 6)
    squashed = net[1](net[0](x))
    error = (net[2](squashed) - x.prod(1, keepdim=True)).pow(2).mean()
    norms.append(squashed.grad_fn._saved_result.norm().item())
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
print(f"RESULT {error.item():.6g} {sum(norms):.6g}")
