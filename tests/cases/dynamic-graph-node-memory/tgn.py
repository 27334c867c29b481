import torch
from torch import nn


class MemoryBank(nn.Module):
    def __init__(self, nodes, width, feats):
        super().__init__()
        self.cell = nn.GRUCell(width + feats, width)
        self.register_buffer("memory", torch.zeros(nodes, width))

    def reset(self):
        self.memory = torch.zeros_like(self.memory)

    def read(self, ids):
        return self.memory[ids]

    def write(self, ids, others, feats):
        message = torch.cat([self.read(others), feats], dim=-1)
        fresh = self.cell(message, self.read(ids))
        self.memory = self.memory.index_copy(0, ids, fresh)


class LinkModel(nn.Module):
    def __init__(self, nodes, width, feats):
        super().__init__()
        self.bank = MemoryBank(nodes, width, feats)
        self.start = nn.Embedding(nodes, width)
        self.score = nn.Bilinear(width, width, 1)

    def embed(self, ids):
        return self.start(ids) + self.bank.read(ids)

    def forward(self, src, dst, neg, feats):
        self.bank.write(src, dst, feats)
        left = self.embed(src)
        return self.score(left, self.embed(dst)), self.score(left, self.embed(neg))
