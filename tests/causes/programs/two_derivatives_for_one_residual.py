# missing-create-graph: u; create-graph
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
def slope(of, at):
    return torch.autograd.grad(of.sum(), at)[0]  #! freed failed
def residual(x, t):
    u = net(torch.cat([x, t], 1))
    return slope(u, t) - slope(u, x)
for _ in range(3):
    x, t = torch.rand(2, 8, 1).requires_grad_().unbind()
    loss = residual(x, t).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
