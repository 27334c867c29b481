# kind: item
# cause: accumulated-loss
# carrier: running
import torch
from torch import nn

torch.manual_seed(24)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
running = 0.0
for i in range(8):
    loss = net(torch.randn(8, 3)).square().mean()  #@built
    running += loss  #-
    running += loss.item()  #+
    opt.zero_grad()
    running.backward()  #- @failed @freed
    loss.backward()  #+
    opt.step()
print("RESULT", float(running) / 8, net[0].weight.sum().item())
