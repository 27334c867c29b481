"""
Tiny character-level GPT on a toy grammar.
Micro-batches are accumulated `accum` at a time; an epoch does not divide evenly so the
last window of each epoch is shorter.
"""
import math
import random

import torch
import torch.nn as nn
from torch.nn import functional as F

# -----------------------------------------------------------------------------
block_size = 12
n_embd = 24
n_head = 3
n_layer = 2
batch_size = 6
micro_batches = 10      # per epoch
accum = 4
epochs = 5
lr = 6e-3
warmup = 4
# -----------------------------------------------------------------------------

random.seed(1337)
torch.manual_seed(1337)

words = ["ab", "abba", "cad", "dab", "fee", "bead", "face"]
text = " ".join(random.choice(words) for _ in range(400))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd)
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        y = (F.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + self.proj(y)
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, k):
        for _ in range(k):
            logits, _ = self(idx[:, -block_size:])
            idx = torch.cat([idx, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return idx


@torch.no_grad()
def estimate_loss(model):
    model.eval()
    losses = torch.stack([model(*get_batch("val"))[1] for _ in range(3)])
    model.train()
    return losses.mean().item()


model = GPT(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.05)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / warmup))

for epoch in range(epochs):
    running, window_loss = [], 0.0
    optimizer.zero_grad(set_to_none=True)
    for micro in range(micro_batches):
        first = micro - micro % accum
        window = min(accum, micro_batches - first)
        xb, yb = get_batch("train")
        _, loss = model(xb, yb)
        loss = loss / window
        loss.backward()
        window_loss += loss.item()
        if micro % accum == accum - 1 or micro == micro_batches - 1:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            running.append(window_loss)
            window_loss = 0.0
    val = estimate_loss(model)
    print(f"epoch {epoch}: train {sum(running) / len(running):.4f} val {val:.4f}")

out = model.generate(torch.tensor([[stoi["a"]]]), 20)[0].tolist()
print("sample:", "".join(itos[i] for i in out))
total = sum(p.abs().sum().item() for p in model.parameters())
print("RESULT %.6g %.6g %.6g" % (total, running[-1], val))
