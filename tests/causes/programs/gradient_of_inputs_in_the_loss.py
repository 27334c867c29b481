# missing-create-graph: energy; create-graph
import torch
from torch import nn
torch.manual_seed(2)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), .01)
for i in range(3):
    x = torch.randn(8, 2).requires_grad_()
    energy = net(x)  #! built
    gx, = torch.autograd.grad(energy.sum(), x)  #! freed
    loss = (gx + x).pow(2).sum(1).mean() + energy.pow(2).mean()
    opt.zero_grad()
    loss.backward()  #! failed
    opt.step()
print("RESULT", loss.item())
