import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.kv, self.ff = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mem):
        k, v = self.kv(torch.cat([mem, x], 1)).chunk(2, -1)
        att = (self.q(x) @ k.transpose(1, 2) / x.size(-1) ** 0.5).softmax(-1)
        return self.norm(x + torch.relu(self.ff(att @ v)))


class MemoryLM(nn.Module):
    def __init__(self, vocab, dim=16, layers=2, mem_len=6):
        super().__init__()
        self.mem_len = mem_len
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def init_mems(self, batch):
        return [torch.zeros(batch, 0, self.emb.embedding_dim) for _ in self.layers]

    def forward(self, tokens, mems):
        x = self.emb(tokens)
        new_mems = []
        for layer, mem in zip(self.layers, mems):
            new_mems.append(torch.cat([mem, x], 1)[:, -self.mem_len:].detach())
            x = layer(x, mem)
        return self.head(x), new_mems
