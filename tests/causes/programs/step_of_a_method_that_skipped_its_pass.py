# stale-gradient: self.opt; other
import torch, torch.nn as nn
torch.manual_seed(0)
class Solver:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), .1)
    def step(self, it):
        loss = self.net(torch.randn(8, 4)).pow(2).mean()
        if it % 3:
            self.opt.zero_grad()
            loss.backward()  #! freed
        self.opt.step()  #! failed
solver = Solver()
for it in range(1, 12):
    solver.step(it)
