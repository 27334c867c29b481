# clean
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    opt.zero_grad()
    delta = torch.zeros_like(x)
    for k in range(3):
        delta = delta.detach().requires_grad_()
        loss = (net(x + delta) - y).pow(2).mean() / 3
        loss.backward()
        delta = delta.detach() + 0.1 * delta.grad.sign()
    opt.step()
print("RESULT", loss.item())
