# graph-leak: self.curves["held"]; item
from collections import defaultdict

import torch
from torch import nn

torch.manual_seed(0)


class Experiment:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.curves = defaultdict(list)

    def epoch(self):
        for x in torch.randn(3, 16, 8):
            loss = (self.net(x) - x).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.curves["seen"].append(loss.item())
        x = torch.randn(16, 8)
        self.curves["held"].append((self.net(x) - x).pow(2).mean())  #! failed


experiment = Experiment()
for _ in range(30):
    experiment.epoch()
print("RESULT", experiment.curves["seen"][-1])
