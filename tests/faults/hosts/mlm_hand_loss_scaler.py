# masked language model, loss scaling written out by hand (what GradScaler does, minus the GPU)
import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

SEED = 99
th.manual_seed(SEED)
rng = np.random.default_rng(SEED)

PAD, MASK, V = 0, 1, 20
L, DIM, BS = 12, 20, 16


class LossScaler:
    def __init__(self, scale=2.0 ** 10, growth=2.0, backoff=0.5, interval=6):
        self.scale, self.growth, self.backoff, self.interval = scale, growth, backoff, interval
        self.good = 0
        self.skipped = 0

    def backward(self, loss):
        (loss * self.scale).backward()

    def step(self, opt, params, max_norm):
        grads = [p.grad for p in params]
        inv = 1.0 / self.scale
        for g in grads:
            g.mul_(inv)
        if not all(bool(th.isfinite(g).all()) for g in grads):
            self.scale *= self.backoff
            self.good = 0
            self.skipped += 1
            return None
        gn = nn.utils.clip_grad_norm_(params, max_norm)
        opt.step()
        self.good += 1
        if self.good == self.interval:
            self.scale *= self.growth
            self.good = 0
        return gn.item()


class MLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.we = nn.Embedding(V, DIM)
        self.pe = nn.Embedding(L, DIM)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(DIM, 4, 40, dropout=0.1, batch_first=True, norm_first=True),
            2, enable_nested_tensor=False)
        self.bias = nn.Parameter(th.zeros(V))

    def forward(self, ids):
        h = self.we(ids) + self.pe(th.arange(ids.size(1)))
        h = self.enc(h, src_key_padding_mask=ids.eq(PAD))
        return h @ self.we.weight.T / DIM ** 0.5 + self.bias     # tied output layer


def corpus(n):
    rows = []
    for _ in range(n):
        a, d, k = rng.integers(2, V), rng.integers(1, 3), rng.integers(8, L + 1)
        row = 2 + (a + d * np.arange(k)) % (V - 2)
        rows.append(np.pad(row, (0, L - k), constant_values=PAD))
    return th.from_numpy(np.stack(rows)).long()


def corrupt(ids, p=0.2):
    pick = (th.rand(ids.shape) < p) & ids.ne(PAD)
    pick[:, 3] = True
    labels = ids.masked_fill(~pick, -100)
    how = th.rand(ids.shape)
    out = ids.clone()
    out[pick & (how < 0.8)] = MASK
    swap = pick & (how > 0.9)
    out[swap] = th.randint(2, V, (int(swap.sum()),))
    return out, labels


def xent(logits, labels, eps=0.1):
    """label smoothed cross entropy over the masked positions only"""
    keep = labels.ne(-100)
    lp = F.log_softmax(logits[keep], -1)
    nll = -lp.gather(1, labels[keep][:, None]).mean()
    return (1 - eps) * nll + eps * -lp.mean(), nll


train, dev = corpus(120), corpus(40)
net = MLM()
decay = [p for p in net.parameters() if p.dim() > 1]
plain = [p for p in net.parameters() if p.dim() <= 1]
opt = th.optim.AdamW([dict(params=decay, weight_decay=0.01), dict(params=plain, weight_decay=0.0)], lr=8e-3)
scaler = LossScaler()
allp = decay + plain

hist = []
for step in range(26):
    ids = train[th.randint(len(train), (BS,))]
    x, y = corrupt(ids)
    loss, nll = xent(net(x), y)
    opt.zero_grad()
    scaler.backward(loss)
    gn = scaler.step(opt, allp, 1.0)
    hist.append((loss.item(), nll.item(), gn))
    if step % 5 == 0:
        print("step %02d loss %.4f nll %.4f gnorm %s scale %g" % (step, *hist[-1][:2], "%.3f" % gn if gn is not None else "inf", scaler.scale))

net.eval()
with th.no_grad():
    x, y = corrupt(dev)
    dev_nll = xent(net(x), y)[1].item()
print("dev nll %.4f skipped %d" % (dev_nll, scaler.skipped))
print("RESULT %.6g %.6g %.6g %.6g" % (sum(p.abs().sum().item() for p in net.parameters()), hist[-1][0], dev_nll, scaler.scale))
