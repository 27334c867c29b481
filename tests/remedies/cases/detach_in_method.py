# kind: detach
# cause: carried-state
# carrier: self.memory
import torch
from torch import nn


class Online:
    """Keeps its memory between calls."""

    def __init__(self, dim):
        self.net = nn.Sequential(nn.Linear(2 * dim, dim), nn.Tanh())
        self.out = nn.Linear(dim, 1)
        self.opt = torch.optim.SGD([*self.net.parameters(), *self.out.parameters()], lr=0.1)
        self.memory = torch.zeros(1, dim)

    def observe(self, x, y):
        """One step of learning."""
        self.memory = self.net(torch.cat([x, self.memory], 1))  #@built
        loss = (self.out(self.memory) - y).square().mean()
        self.opt.zero_grad()
        loss.backward()  #@failed @freed
        self.opt.step()
        self.memory = self.memory.detach()  #+
        return loss.item()


torch.manual_seed(5)
learner = Online(3)
losses = [learner.observe(torch.randn(1, 3), 1.0) for _ in range(5)]
print("RESULT", losses[-1], learner.out.weight.sum().item())
