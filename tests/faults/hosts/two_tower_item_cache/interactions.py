import numpy as np
import torch


class Interactions:
    """Implicit feedback: a user clicks items near him in a hidden taste space."""

    def __init__(self, n_users=60, n_items=40, clicks=8, seed=0):
        rng = np.random.default_rng(seed)
        taste_u = rng.normal(size=(n_users, 3))
        taste_i = rng.normal(size=(n_items, 3))
        affinity = taste_u @ taste_i.T + 0.3 * rng.normal(size=(n_users, n_items))
        top = np.argsort(-affinity, axis=1)[:, :clicks]
        self.user_features = torch.tensor(taste_u + 0.3 * rng.normal(size=taste_u.shape), dtype=torch.float32)
        self.item_features = torch.tensor(taste_i + 0.3 * rng.normal(size=taste_i.shape), dtype=torch.float32)
        self.train = torch.tensor([(u, i) for u in range(n_users) for i in top[u, 1:]])
        self.heldout = torch.tensor(top[:, 0].copy())
        self.clicked = torch.zeros(n_users, n_items, dtype=torch.bool)
        self.clicked[self.train[:, 0], self.train[:, 1]] = True

    def epoch(self, batch_size):
        for rows in torch.randperm(len(self.train)).split(batch_size):
            yield self.train[rows, 0], self.train[rows, 1]
