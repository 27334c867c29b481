import torch
from typing import NamedTuple


class EventBatch(NamedTuple):
    src: torch.Tensor
    dst: torch.Tensor
    t: torch.Tensor
    feat: torch.Tensor
    neg: torch.Tensor

    def __len__(self):
        return self.src.numel()


class InteractionLog:
    """Users click items; every user has two favourite items and drifts between them."""

    def __init__(self, n_users=12, n_items=8, n_events=120, feat_dim=3, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.n_users, self.n_items, self.n_nodes = n_users, n_items, n_users + n_items
        favourites = torch.randint(0, n_items, (n_users, 2), generator=g)
        self.src = torch.randint(0, n_users, (n_events,), generator=g)
        self.t = torch.rand(n_events, generator=g).cumsum(0)
        phase = (torch.arange(n_events) * 2 // n_events)
        self.dst = n_users + favourites[self.src, phase]
        self.feat = torch.randn(n_events, feat_dim, generator=g)
        self.feat[:, 0] += (self.dst - n_users).float() / n_items

    def stream(self, lo, hi, batch_size, gen):
        for i in range(lo, hi, batch_size):
            s = slice(i, min(i + batch_size, hi))
            neg = torch.randint(self.n_users, self.n_nodes, (len(self.src[s]),), generator=gen)
            yield EventBatch(self.src[s], self.dst[s], self.t[s], self.feat[s], neg)
