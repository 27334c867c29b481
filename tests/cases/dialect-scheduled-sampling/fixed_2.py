import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2


def toy_pairs(n, length, vocab, rng):
    """Source words, target: reversed with a vowel shift. Lists of ids, padded."""
    src, tgt = [], []
    for _ in range(n):
        k = rng.randint(3, length)
        words = [rng.randint(3, vocab - 1) for _ in range(k)]
        out = [3 + (w - 3 + 1) % (vocab - 3) for w in reversed(words)] + [EOS]
        src.append(words + [PAD] * (length - k))
        tgt.append(out + [PAD] * (length - k))
    return torch.tensor(src), torch.tensor(tgt)


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim // 2, batch_first=True, bidirectional=True)

    def forward(self, src):
        out, h = self.rnn(self.emb(src))
        return out, torch.cat([h[0], h[1]], -1)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(2 * dim, dim)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, h, enc, mask):
        e = self.v(torch.tanh(self.w(torch.cat([h.unsqueeze(1).expand_as(enc), enc], -1)))).squeeze(-1)
        a = e.masked_fill(mask, -1e9).softmax(-1)
        return (a.unsqueeze(1) @ enc).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.attn = Attention(dim)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.out = nn.Linear(2 * dim, vocab)

    def forward(self, enc, h, mask, tgt, p_gold, rng):
        steps = tgt.size(1)
        gold = torch.cat([torch.full_like(tgt[:, :1], BOS), tgt[:, :-1]], 1)
        feed = self.emb(gold)
        logits = []
        for t in range(steps):
            ctx = self.attn(h, enc, mask)
            h = self.cell(torch.cat([feed[:, t], ctx], -1), h)
            logits.append(self.out(torch.cat([h, ctx], -1)))
            if t + 1 < steps and rng.random() >= p_gold:
                probs = F.gumbel_softmax(logits[-1], tau=0.7)
                feed[:, t + 1] = self.mix(probs, feed[:, t + 1].clone())
        return torch.stack(logits, 1)

    def mix(self, probs, gold):
        """Confidence-gated mixture (Goyal et al. 2017)."""
        soft = probs @ self.emb.weight
        gate = probs.max(-1, keepdim=True).values
        return gate * soft + (1 - gate) * gold


def schedule(kind, step, k):
    if kind == "sigmoid":
        return k / (k + math.exp(step / k))
    if kind == "linear":
        return max(0.1, 1 - step / (4 * k))
    raise ValueError(kind)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--schedule", default="sigmoid", choices=["sigmoid", "linear"])
    ap.add_argument("--k", type=float, default=6.0)
    ap.add_argument("--updates", type=int, default=25)
    ap.add_argument("--dim", type=int, default=24)
    ap.add_argument("--vocab", type=int, default=12)
    opt = ap.parse_args()

    torch.manual_seed(3)
    rng = random.Random(3)
    enc, dec = Encoder(opt.vocab, opt.dim), Decoder(opt.vocab, opt.dim)
    params = [*enc.parameters(), *dec.parameters()]
    adam = torch.optim.Adam(params, lr=5e-3)
    first = None
    for step in range(opt.updates):
        src, tgt = toy_pairs(16, 6, opt.vocab, rng)
        p = schedule(opt.schedule, step, opt.k)
        memory, h = enc(src)
        logits = dec(memory, h, src == PAD, tgt, p, rng)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        adam.step()
        first = loss.item() if first is None else first
        if step % 8 == 0:
            print(f"{step:3d} p_gold {p:.2f} loss {loss.item():.4f}")
    print("RESULT", f"{first:.6f}", f"{loss.item():.6f}")


if __name__ == "__main__":
    main()
