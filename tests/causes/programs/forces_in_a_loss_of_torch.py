# missing-create-graph: forces; create-graph
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), .1)
def both(x):
    energy = net(x)
    return energy, -torch.autograd.grad(energy.sum(), x, retain_graph=True)[0]  #! built freed failed
def objective(x, wanted):
    energy, forces = both(x)
    return nn.functional.mse_loss(energy, wanted[:, :1]) + nn.functional.mse_loss(forces, wanted)
for it in range(5):
    x = torch.randn(6, 3, requires_grad=True)
    loss = objective(x, x.detach().sin())
    opt.zero_grad()
    loss.backward()
    opt.step()
