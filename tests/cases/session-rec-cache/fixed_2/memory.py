from collections import OrderedDict

import torch


class RecentSessions:
    """Keeps the latest vector of every session; other sessions serve as negatives."""

    def __init__(self, capacity):
        self.capacity = capacity
        self._vecs = OrderedDict()

    def __len__(self):
        return len(self._vecs)

    def push(self, ids, vecs):
        for sid, v in zip(ids.tolist(), vecs.detach().unbind(0)):
            self._vecs.pop(sid, None)
            self._vecs[sid] = v
        while len(self._vecs) > self.capacity:
            self._vecs.popitem(last=False)

    def negatives(self, exclude):
        skip = set(exclude.tolist())
        rows = [v for sid, v in self._vecs.items() if sid not in skip]
        return torch.stack(rows) if rows else None
