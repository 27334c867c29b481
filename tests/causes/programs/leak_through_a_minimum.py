# graph-leak: best; item
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
best = torch.tensor(float("inf"))
for step in range(30):
    x = torch.randn(16, 8)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = torch.minimum(best, loss)  #! failed
print("RESULT", float(best))
