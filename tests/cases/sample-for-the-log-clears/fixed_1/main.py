import torch
from torch import nn
from torch.nn import functional as F

from charmodel import CharRNN


def stream(n, length=12):
    g = torch.Generator().manual_seed(8)
    for _ in range(n):
        start = torch.randint(0, 9, (16, 1), generator=g)
        yield (start + torch.arange(length)) % 9


def train(model, optimizer, batches):
    log = []
    for i, ids in enumerate(batches):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        sample = model.speak(start=0, length=5)
        optimizer.step()
        log.append((loss.item(), sample))
    return log


torch.manual_seed(99)
model = CharRNN(9, 16)
log = train(model, torch.optim.Adam(model.parameters(), lr=1e-2), stream(40))
print(f"RESULT {log[0][0]:.5f} {log[-1][0]:.5f}")
