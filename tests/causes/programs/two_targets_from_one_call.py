# shared-forward: out; combine-losses
import torch
from torch import nn
from torch.nn import functional as F
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(net.parameters(), 0.1)
class Targets:
    turn = 0
    def following(self):
        self.turn += 1
        return torch.arange(8).add(self.turn) % 3
targets = Targets()
for x in torch.randn(3, 8, 4):
    out = net(x)
    opt.zero_grad()
    F.cross_entropy(out, targets.following()).backward()  #! freed
    F.cross_entropy(out, targets.following()).backward()  #! failed
    opt.step()
