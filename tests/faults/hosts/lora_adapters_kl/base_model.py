import torch
from torch import nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(dim, dim))
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, hidden):
        h = self.norm_1(hidden)
        attn = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h), is_causal=True)
        hidden = hidden + self.o_proj(attn)
        return hidden + self.down(F.silu(self.up(self.norm_2(hidden))))


class TinyLM(nn.Module):
    def __init__(self, vocab_size, dim, depth, max_len):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim)
        self.position = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(dim) for _ in range(depth))
        self.lm_head = nn.Linear(dim, vocab_size)

    def forward(self, tokens):
        hidden = self.embed(tokens) + self.position[: tokens.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden)
        return self.lm_head(hidden)
