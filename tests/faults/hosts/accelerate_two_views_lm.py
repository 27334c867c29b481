"""A tiny causal language model under Accelerate, with gradient accumulation and a consistency term between dropouts."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, 2, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * d, d))

    def forward(self, x, mask):
        y = self.norm(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(x)


class TinyLM(nn.Module):
    def __init__(self, vocab=14, d=16, length=10):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList([Block(d), Block(d)])
        self.register_buffer("mask", torch.triu(torch.full((length, length), float("-inf")), 1), persistent=False)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        n = ids.size(1)
        x = self.tokens(ids) + self.places.weight[:n]
        for block in self.blocks:
            x = block(x, self.mask[:n, :n])
        return self.head(x)


def two_views(model, ids):
    first, second = model(ids[:, :-1]), model(ids[:, :-1])
    nll = F.cross_entropy(first.flatten(0, 1), ids[:, 1:].flatten())
    agree = F.kl_div(F.log_softmax(first, -1), F.softmax(second.detach(), -1), reduction="batchmean")
    return nll, agree / ids.size(1)


def train():
    set_seed(30)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    start = torch.randint(0, 14, (48, 1))
    ids = (start + torch.arange(10) * 3) % 14
    loader = DataLoader(TensorDataset(ids), batch_size=8)
    model = TinyLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    curve = []
    for _ in range(4):
        for (batch,) in loader:
            with accelerator.accumulate(model):
                nll, agree = two_views(model, batch)
                accelerator.backward(nll + 0.1 * agree)
                optimizer.step()
                optimizer.zero_grad()
            curve.append(nll.item())
    return model, curve


model, curve = train()
print("RESULT", "%.6f" % (sum(curve[-6:]) / 6), "%.6f" % sum(p.detach().abs().mean().item() for p in model.parameters()))
