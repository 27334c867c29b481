# stored-history: mem.past[1]; detach
import collections
import torch
from torch import nn
torch.manual_seed(0)

class Memory:
    def __init__(self, n):
        self.past = collections.deque(maxlen=n)
    def push(self, t):
        self.past.append(t)
    def mean(self):
        return torch.stack(list(self.past)).mean(0)

class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.GRU(3, 5, batch_first=True)
        self.o = nn.Linear(10, 1)
    def forward(self, s, prior):
        _, h = self.f(s)
        h = h[0]  #! built
        return self.o(torch.cat([h, prior.expand(len(h), -1)], 1)), h

model, mem = Forecaster(), Memory(4)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
mem.push(torch.zeros(5))
for day in range(5):
    y, h = model(torch.randn(4, 7, 3), mem.mean())
    loss = (y - 1).abs().mean()
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
    mem.push(h.mean(0))  #! built
print("RESULT", loss.item())
