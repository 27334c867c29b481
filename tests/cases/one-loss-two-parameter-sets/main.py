import torch
from torch import nn

torch.manual_seed(159)
a, b = nn.Linear(5, 10), nn.Linear(10, 1)
opt_a, opt_b = torch.optim.SGD(a.parameters(), lr=0.02), torch.optim.Adam(b.parameters(), lr=0.01)
for step in range(25):
    x = torch.randn(20, 5)
    loss = (b(torch.tanh(a(x))) - x[:, :1]).pow(2).mean()
    opt_a.zero_grad()
    opt_b.zero_grad()
    loss.backward(inputs=list(a.parameters()), retain_graph=True)
    (2 * loss).backward(inputs=list(b.parameters()))
    opt_a.step()
    opt_b.step()
print(f"RESULT {loss.item():.6g}")
