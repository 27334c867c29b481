# carried-state: self.rows job.rows rows self.rows[0] self.rows[1] job.rows[0] job.rows[1]
import torch
from torch import nn


class Job:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.rows = {0: torch.zeros(3), 1: torch.zeros(3)}
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        codes = torch.tanh(self.net(x))
        loss = (codes @ torch.stack(list(self.rows.values())).T).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()  #! freed failed
        self.optimizer.step()
        for i, code in enumerate(codes):
            self.rows[i] = 0.5 * self.rows[i] + torch.sin(code)  #! built
        return loss.item()


torch.manual_seed(0)
job = Job()
print([job.step(x) for x in torch.randn(4, 2, 3)])
