# kind: other
# cause: accumulated-loss
# carrier: total
import torch
from torch import nn

torch.manual_seed(23)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
total = 0
for i in range(12):
    total = total + net(torch.randn(8, 3)).square().mean()  #@built
    if (i + 1) % 3 == 0:
        opt.zero_grad()
        total.backward()  #@failed @freed
        opt.step()
        total = 0  #+
print("RESULT", net[0].weight.sum().item())
