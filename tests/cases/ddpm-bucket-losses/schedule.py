import math
import torch


class CosineSchedule:
    def __init__(self, T, s=0.008):
        t = torch.arange(T + 1) / T
        f = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
        self.T = T
        self.alpha_bar = (f / f[0])[1:].clamp(1e-4, 0.9999)

    def noise(self, x0, t, eps):
        ab = self.alpha_bar[t].unsqueeze(1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * eps


class LossTracker:
    """Smoothed loss per timestep bucket, printed now and then."""

    def __init__(self, T, buckets=4, decay=0.95):
        self.edges = torch.linspace(0, T, buckets + 1)[1:-1]
        self.values = [None] * buckets
        self.decay = decay

    def add(self, t, per_sample):
        which = torch.bucketize(t.float(), self.edges)
        for b in range(len(self.values)):
            mask = which == b
            if not mask.any():
                continue
            current = per_sample[mask].mean()
            old = self.values[b]
            self.values[b] = current if old is None else self.decay * old + (1 - self.decay) * current

    def summary(self):
        return " ".join("-" if v is None else f"{float(v):.4f}" for v in self.values)
