# SPDX-License-Identifier: BSD-3-Clause
"""The programs that bench/watch.py times: written as users write them, and loaded twice, with marks and without."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, width)
        return self.out(y)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, words, length):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, idx):
        x = self.tokens(idx) + self.places(torch.arange(idx.shape[1], device=idx.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def mlp(device):
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 32, device=device)
    y = torch.randint(0, 10, (64,), device=device)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()

    return train


def lstm(device):
    cell = nn.LSTMCell(32, 64).to(device)
    head = nn.Linear(64, 1).to(device)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    data = torch.randn(50, 16, 32, device=device)
    target = torch.randn(50, 16, 1, device=device)

    def train(steps):
        h = torch.zeros(16, 64, device=device)
        c = torch.zeros(16, 64, device=device)
        for _ in range(steps):
            optimizer.zero_grad()
            h, c = h.detach(), c.detach()
            loss = 0
            for x, y in zip(data, target, strict=False):
                h, c = cell(x, (h, c))
                loss = loss + F.mse_loss(head(h), y)
            loss.backward()
            optimizer.step()

    return train


def language_model(model, batch, length, words, device, dtype=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    idx = torch.randint(0, words, (batch, length), device=device)

    def loss_of(x):
        logits = model(x[:, :-1])
        return F.cross_entropy(logits.reshape(-1, words).float(), x[:, 1:].reshape(-1))

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            if dtype is None:
                loss = loss_of(idx)
            else:
                with torch.autocast("cuda", dtype):
                    loss = loss_of(idx)
            loss.backward()
            optimizer.step()

    return train


def transformer(device):
    return language_model(Transformer(4, 128, 4, 256, 64).to(device), 8, 64, 256, device)


def tiny_gpt(device):
    return language_model(Transformer(4, 64, 4, 256, 64).to(device), 4, 64, 256, device)


def gpt2_small(device):
    model = Transformer(12, 768, 12, 50304, 1024).to(device)
    return language_model(model, 8, 1024, 50304, device, torch.bfloat16)
