"""minGPT-like thing that predicts digit sums, trained step by step with the kv cache
(so that train and generate use the same code path)"""
import math
from dataclasses import dataclass, field
from typing import List

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab: int = 12
    block: int = 9
    n_layer: int = 2
    n_head: int = 2
    d: int = 16
    steps: int = 6
    batch: int = 8
    lr: float = 3e-3
    seed: int = 1337
    betas: List[float] = field(default_factory=lambda: [0.9, 0.95])


class KVCache:
    def __init__(self, cfg, bsz):
        self.k = [[] for _ in range(cfg.n_layer)]
        self.v = [[] for _ in range(cfg.n_layer)]

    def append(self, layer, pos, k, v):
        self.k[layer].append(k)
        self.v[layer].append(v)
        return torch.stack(self.k[layer], 2), torch.stack(self.v[layer], 2)


class CachedAttention(nn.Module):
    def __init__(self, cfg, layer):
        super().__init__()
        self.layer, self.h = layer, cfg.n_head
        self.qkv = nn.Linear(cfg.d, 3 * cfg.d)
        self.proj = nn.Linear(cfg.d, cfg.d)

    def forward(self, x, pos, cache):
        B, C = x.shape
        q, k, v = self.qkv(x).view(B, 3, self.h, C // self.h).unbind(1)
        keys, values = cache.append(self.layer, pos, k, v)
        att = torch.einsum('bhd,bhtd->bht', q, keys) / math.sqrt(q.size(-1))
        y = torch.einsum('bht,bhtd->bhd', att.softmax(-1), values)
        return self.proj(y.reshape(B, C))


class Block(nn.Module):
    def __init__(self, cfg, layer):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.d), nn.LayerNorm(cfg.d)
        self.attn = CachedAttention(cfg, layer)
        self.mlp = nn.Sequential(nn.Linear(cfg.d, 2 * cfg.d), nn.GELU(), nn.Linear(2 * cfg.d, cfg.d))

    def forward(self, x, pos, cache):
        x = x + self.attn(self.ln1(x), pos, cache)
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.tok = nn.Embedding(cfg.vocab, cfg.d)
        self.pos = nn.Embedding(cfg.block, cfg.d)
        self.blocks = nn.ModuleList([Block(cfg, i) for i in range(cfg.n_layer)])
        self.head = nn.Linear(cfg.d, cfg.vocab, bias=False)

    def step(self, idx, pos, cache):
        x = self.tok(idx) + self.pos.weight[pos]
        for b in self.blocks:
            x = b(x, pos, cache)
        return self.head(x)

    def forward(self, tokens):
        cache = KVCache(self.cfg, tokens.size(0))
        return torch.stack([self.step(tokens[:, t], t, cache) for t in range(tokens.size(1))], 1)

    @torch.no_grad()
    def generate(self, prompt, n):
        cache, out = KVCache(self.cfg, prompt.size(0)), prompt
        for t in range(prompt.size(1) + n - 1):
            logits = self.step(out[:, t], t, cache)
            if t + 1 >= out.size(1):
                out = torch.cat([out, logits.argmax(-1, keepdim=True)], 1)
        return out


def get_batch(cfg):
    d = torch.randint(0, 10, (cfg.batch, cfg.block))
    return torch.cat([d[:, :1], d.cumsum(1)[:, 1:] % 10], 1)


def main(cfg):
    torch.manual_seed(cfg.seed)
    model = GPT(cfg)
    optim = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=tuple(cfg.betas))
    trace = []
    for it in range(cfg.steps):
        tokens = get_batch(cfg)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, cfg.vocab), tokens[:, 1:].reshape(-1))
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        trace.append(loss.item())
        print('iter', it, 'loss', round(trace[-1], 4))
    print(model.generate(tokens[:1, :3], 4).tolist())
    print('RESULT', ' '.join(f'{v:.6f}' for v in trace))


if __name__ == '__main__':
    main(Config())
