import torch
import torch.nn.functional as F


class KeyQueue:
    """FIFO ring of keys used as negatives"""

    def __init__(self, size, dim, generator):
        self.keys = F.normalize(torch.randn(size, dim, generator=generator), dim=1)
        self.ptr = 0

    @torch.no_grad()
    def push(self, k):
        n = k.shape[0]
        assert len(self.keys) % n == 0
        self.keys[self.ptr:self.ptr + n] = k
        self.ptr = (self.ptr + n) % len(self.keys)

    def negatives(self):
        return self.keys.clone()


def info_nce(q, k, negatives, tau):
    l_pos = (q * k).sum(1, keepdim=True)
    l_neg = q @ negatives.t()
    logits = torch.cat([l_pos, l_neg], dim=1) / tau
    return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long)), (logits.argmax(1) == 0).float().mean()
