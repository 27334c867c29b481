import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class XLAttention(nn.Module):
    def __init__(self, d_model, n_head, max_dist):
        super().__init__()
        self.n_head, self.d_head = n_head, d_model // n_head
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model)
        self.rel_bias = nn.Parameter(torch.zeros(n_head, max_dist))

    def forward(self, x, mem):
        b, t, d = x.shape
        ctx = torch.cat([mem, x], dim=1)
        s = ctx.size(1)
        q = self.q(x).view(b, t, self.n_head, self.d_head).transpose(1, 2)
        k, v = self.kv(ctx).chunk(2, dim=-1)
        k = k.view(b, s, self.n_head, self.d_head).transpose(1, 2)
        v = v.view(b, s, self.n_head, self.d_head).transpose(1, 2)
        dist = torch.arange(s - t, s)[:, None] - torch.arange(s)[None, :]
        att = q @ k.transpose(-1, -2) / math.sqrt(self.d_head)
        att = att + self.rel_bias[:, dist.clamp(0, self.rel_bias.size(1) - 1)]
        att = att.masked_fill(dist < 0, float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d_model, n_head, max_dist):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = XLAttention(d_model, n_head, max_dist)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x, mem):
        x = x + self.attn(self.ln1(x), self.ln1(mem))
        return x + self.ff(self.ln2(x))


class TinyXL(nn.Module):
    def __init__(self, vocab, d_model=32, n_head=2, n_layer=2, mem_len=12, seg_len=8):
        super().__init__()
        self.mem_len = mem_len
        self.tok = nn.Embedding(vocab, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_head, mem_len + seg_len) for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(d_model)

    def init_mems(self, b):
        return [torch.zeros(b, 0, self.tok.embedding_dim) for _ in self.blocks]

    @torch.no_grad()
    def _update_mems(self, hids, mems):
        return [torch.cat([m, h], dim=1)[:, -self.mem_len:] for m, h in zip(mems, hids)]

    def forward(self, idx, mems, target=None):
        x = self.tok(idx)
        hids = []
        for blk, mem in zip(self.blocks, mems):
            hids.append(x)
            x = blk(x, mem)
        new_mems = self._update_mems(hids, mems)
        logits = self.ln_f(x) @ self.tok.weight.T
        if target is None:
            return logits, new_mems
        return F.cross_entropy(logits.flatten(0, 1), target.flatten()), new_mems


def repeating_tokens(b, n, vocab, period, seed):
    g = torch.Generator().manual_seed(seed)
    motif = torch.randint(0, vocab, (b, period), generator=g)
    seq = motif.repeat(1, n // period + 2)[:, :n + 1]
    flip = torch.rand(seq.shape, generator=g) < 0.03
    return torch.where(flip, torch.randint(0, vocab, seq.shape, generator=g), seq)


def lr_lambda(step, warm=5, total=30):
    return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


def main():
    torch.manual_seed(0)
    VOCAB, SEG = 10, 8
    model = TinyXL(VOCAB, seg_len=SEG)
    nn.init.normal_(model.tok.weight, std=0.1)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)
    stream = repeating_tokens(6, 14 * SEG, VOCAB, 9, seed=1)
    data, held = stream[:, :10 * SEG + 1], stream[:, 10 * SEG:]

    for epoch in range(3):
        mems, tot, cnt = model.init_mems(6), 0.0, 0
        for s in range(0, data.size(1) - 1, SEG):
            loss, mems = model(data[:, s:s + SEG], mems, data[:, s + 1:s + SEG + 1])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            gnorm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            tot, cnt = tot + loss.item(), cnt + 1
        with torch.no_grad():
            mems, ev = model.init_mems(6), []
            for s in range(0, held.size(1) - 1, SEG):
                l, mems = model(held[:, s:s + SEG], mems, held[:, s + 1:s + SEG + 1])
                ev.append(l.item())
        print(f"| epoch {epoch} | loss {tot / cnt:.4f} | held-out {sum(ev) / len(ev):.4f} | gnorm {gnorm:.3f} |")

    print("RESULT %.6g %.6g %.6g" % (sum(p.abs().sum().item() for p in model.parameters()), tot / cnt, ev[-1]))


main()
