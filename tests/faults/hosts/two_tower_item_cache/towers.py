import torch
from torch import nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n_ids, n_features, dim=12):
        super().__init__()
        self.id_embedding = nn.Embedding(n_ids, dim)
        self.dense = nn.Sequential(nn.Linear(n_features + dim, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, dim))
        nn.init.normal_(self.id_embedding.weight, std=0.1)

    def forward(self, ids, features):
        return F.normalize(self.dense(torch.cat([self.id_embedding(ids), features[ids]], dim=-1)), dim=-1)


class ItemIndex:
    """All item vectors as of the last refresh; used to look up hard negatives and to rank."""

    def __init__(self, tower, features):
        self.tower = tower
        self.features = features
        self.vectors = None
        self.version = -1

    @torch.no_grad()
    def refresh(self):
        self.tower.eval()
        self.vectors = self.tower(torch.arange(len(self.features)), self.features)
        self.tower.train()
        self.version += 1

    @torch.no_grad()
    def hardest(self, queries, forbidden, k):
        scores = queries @ self.vectors.T
        return scores.masked_fill(forbidden, -1e9).topk(k, dim=1).indices
