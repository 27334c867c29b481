import torch
import torch.nn as nn

from memory import NodeMemory


class TGN(nn.Module):
    def __init__(self, n_nodes, mem_dim=12, feat_dim=3, time_dim=4, emb_dim=12):
        super().__init__()
        self.memory = NodeMemory(n_nodes, mem_dim, feat_dim, time_dim)
        self.node_bias = nn.Embedding(n_nodes, emb_dim)
        self.project = nn.Linear(mem_dim, emb_dim)
        self.decay = nn.Linear(1, emb_dim)
        self.predictor = nn.Sequential(nn.Linear(2 * emb_dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def embed(self, state, last_seen, nodes, t):
        dt = torch.log1p((t - last_seen[nodes]).clamp_min(0)).unsqueeze(-1)
        return torch.tanh(self.project(state[nodes]) * (1 + self.decay(dt)) + self.node_bias(nodes))

    def score(self, a, b):
        return self.predictor(torch.cat([a, b], -1)).squeeze(-1)

    def forward(self, batch):
        state, last_seen = self.memory.fresh()
        src, dst, neg = (self.embed(state, last_seen, n, batch.t) for n in (batch.src, batch.dst, batch.neg))
        return self.score(src, dst), self.score(src, neg), (state, last_seen)
