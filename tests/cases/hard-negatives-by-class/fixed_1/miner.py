from collections import defaultdict, deque

import torch


class NegativeMiner:
    def __init__(self, per_class):
        self.bank = defaultdict(lambda: deque(maxlen=per_class))

    def remember(self, z, y):
        for row, label in zip(z, y.tolist()):
            self.bank[label].append(row.detach())

    def hardest(self, anchor, label):
        pool = [row for other, rows in self.bank.items() if other != label for row in rows]
        if not pool:
            return None
        pool = torch.stack(pool)
        return pool[(pool - anchor).norm(dim=-1).argmin()].unsqueeze(0)
