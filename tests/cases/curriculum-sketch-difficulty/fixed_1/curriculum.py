import math
from collections import defaultdict

import torch


class DifficultyBook:
    """What every sample cost whenever it was seen; the pacing function reads it."""

    def __init__(self, n, pacing="root", start=0.4):
        self.n, self.pacing, self.start = n, pacing, start
        self.entries = defaultdict(list)

    def write(self, index, cost):
        for i, c in zip(index.tolist(), cost.unbind()):
            self.entries[i].append(c)

    def competence(self, t):
        if self.pacing == "linear":
            return min(1.0, self.start + (1 - self.start) * t)
        return min(1.0, math.sqrt(t * (1 - self.start**2) + self.start**2))

    @torch.no_grad()
    def pool(self, t):
        """Samples admitted at time t of [0, 1]: unseen ones and the cheapest."""
        score = torch.full((self.n,), -1.0)
        for i, costs in self.entries.items():
            w = torch.tensor([0.7**k for k in range(len(costs))]).flip(0)
            score[i] = (torch.stack(costs) * w).sum() / w.sum()
        keep = max(8, int(self.n * self.competence(t)))
        return score.argsort(stable=True)[:keep]


class PacedSampler:
    def __init__(self, book, batch, total_epochs, seed=0):
        self.book, self.batch, self.total = book, batch, total_epochs
        self.g = torch.Generator().manual_seed(seed)
        self.epoch = 0

    def __iter__(self):
        pool = self.book.pool(self.epoch / max(1, self.total - 1))
        self.epoch += 1
        yield from pool[torch.randperm(len(pool), generator=self.g)].split(self.batch)
