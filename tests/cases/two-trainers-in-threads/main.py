import threading

import torch
from torch import nn
import torch.nn.functional as F


class Worker(threading.Thread):
    def __init__(self, seed, steps=60):
        super().__init__()
        self.steps, self.losses = steps, []
        self.rng = torch.Generator().manual_seed(seed)
        self.model = nn.GRU(3, 8, batch_first=True)
        self.head = nn.Linear(8, 1)
        with torch.no_grad():
            for p in [*self.model.parameters(), *self.head.parameters()]:
                p.copy_(torch.rand(p.shape, generator=self.rng) * 0.4 - 0.2)
        self.opt = torch.optim.RMSprop([*self.model.parameters(), *self.head.parameters()], lr=5e-3)
        self.hidden = torch.zeros(1, 4, 8)

    def run(self):
        for _ in range(self.steps):
            x = torch.randn(4, 6, 3, generator=self.rng)
            out, self.hidden = self.model(x, self.hidden)
            loss = F.mse_loss(self.head(out[:, -1]), x.mean((1, 2)).unsqueeze(1))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.hidden.detach_()
            self.losses.append(loss.item())


workers = [Worker(seed) for seed in (1, 2)]
for w in workers:
    w.start()
for w in workers:
    w.join()
print("RESULT", *(f"{w.losses[-1]:.6g}" for w in workers))
