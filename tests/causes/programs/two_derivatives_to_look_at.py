# repeated-backward: u
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
def slopes(x, t):
    u = net(torch.cat([x, t], 1)).sum()
    return [float(torch.autograd.grad(u, at)[0].norm()) for at in (x, t)]  #! freed failed
for _ in range(3):
    x, t = (torch.rand(8, 1).requires_grad_() for _ in range(2))
    loss = net(torch.cat([x, t], 1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(slopes(x, t))
