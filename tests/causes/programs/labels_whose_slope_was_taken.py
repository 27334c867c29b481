# hoisted-forward: energies; detach
import torch
from torch import nn
def labels():
    x = torch.randn(12, 3, requires_grad=True)
    energies = (x.sin() ** 2).sum(1)  #! built
    slope, = torch.autograd.grad(energies.sum(), x)  #! freed
    return x.detach(), energies, slope
x, energies, slope = labels()
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for rows in torch.arange(12).split(4):
    loss = (net(x[rows]).squeeze(1) - energies[rows]).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #! failed
    opt.step()
