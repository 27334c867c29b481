import numpy as np
import torch


class EpisodeSampler:
    """Yields N-way K-shot episodes from a made-up 'Omniglot' of gaussian blobs on curves."""

    def __init__(self, n_classes, way, shot, query, seed):
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.normal(size=(n_classes, 2, 8)) * 1.2
        self.way, self.shot, self.query = way, shot, query

    def _draw(self, cls, n):
        t = self.rng.uniform(size=(n, 1))
        a, b = self.means[cls]
        pts = a * np.cos(2 * t) + b * np.sin(2 * t)
        return pts + 0.3 * self.rng.normal(size=pts.shape)

    def episodes(self, n):
        for _ in range(n):
            picks = self.rng.choice(len(self.means), self.way, replace=False)
            pts = np.stack([self._draw(c, self.shot + self.query) for c in picks])
            pts = torch.tensor(pts, dtype=torch.float32)
            labels = torch.arange(self.way).repeat_interleave(self.query)
            yield pts[:, :self.shot], pts[:, self.shot:].flatten(0, 1), labels
