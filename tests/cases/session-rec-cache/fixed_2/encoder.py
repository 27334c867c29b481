import torch.nn as nn
import torch.nn.functional as F


class SessionEncoder(nn.Module):
    def __init__(self, n_items, dim):
        super().__init__()
        self.items = nn.Embedding(n_items, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, clicks):
        _, h = self.gru(self.items(clicks))
        return F.normalize(h[-1], dim=-1)

    def embed_item(self, item):
        return F.normalize(self.items(item), dim=-1)
