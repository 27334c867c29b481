# missing-create-graph: u_xx;create-graph
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def residual(x):
    u = net(x)
    (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, retain_graph=True)  #! built failed
    rest = u_xx + u**3 - torch.sin(x)
    return rest.pow(2).mean(), u_xx.abs().max().item()


for _ in range(5):
    opt.zero_grad()
    loss, steepest = residual(torch.rand(16, 1, requires_grad=True))
    loss.backward()
    opt.step()
