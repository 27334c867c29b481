import logging

import torch
from torch import nn
import torch.nn.functional as F

log = logging.getLogger("train")


class Labeller(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.rnn, self.out = nn.RNN(4, dim, batch_first=True), nn.Linear(dim, 3)

    def forward(self, x, state):
        y, state = self.rnn(x, state)
        return self.out(y), state


def epoch(model, optimizer, batches):
    state, done = torch.zeros(1, 6, 10), 0
    for i, (x, y) in enumerate(batches):
        logits, state = model(x, state.detach())
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        try:
            loss.backward()
        except RuntimeError as e:
            log.info("skipping batch %d: %s", i, e)
            continue
        optimizer.step()
        done += 1
    return done, loss.item()


torch.manual_seed(109)
x = torch.randn(60, 5, 4)
y = x[..., :3].argmax(-1)
model = Labeller()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    done, last = epoch(model, optimizer, list(zip(x.split(6), y.split(6))))
print(f"RESULT {done} {last:.6g}")
