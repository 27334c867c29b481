# clean
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    opt.zero_grad()
    near = x
    for k in range(3):
        near = near.detach().requires_grad_()
        gap = (net(near) - y).pow(2).mean()
        gap.backward()
        near = near.detach() + 0.1 * near.grad.sign()
    loss = (net(near.detach()) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("RESULT", loss.item())
