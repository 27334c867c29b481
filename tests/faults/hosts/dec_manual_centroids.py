# Deep embedded clustering. Encoder/decoder go through Adam, the centroids are
# a bare tensor that I move by hand (own step size, own momentum).
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(404)
K, D, Z = 4, 10, 3

basis = torch.randn(K, D) * 2
truth = torch.arange(K).repeat_interleave(40)
X = basis[truth] + 0.7 * torch.randn(len(truth), D)

enc = nn.Sequential(nn.Linear(D, 20), nn.ReLU(), nn.Linear(20, Z))
dec = nn.Sequential(nn.Linear(Z, 20), nn.ReLU(), nn.Linear(20, D))
adam = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=1e-2)


def pretrain(steps):
    last = None
    for _ in range(steps):
        xb = X[torch.randint(len(X), (64,))]
        noisy = xb + 0.3 * torch.randn_like(xb)
        loss = F.mse_loss(dec(enc(noisy)), xb)
        adam.zero_grad()
        loss.backward()
        adam.step()
        last = loss.item()
    return last


@torch.no_grad()
def kmeans(z, k, iters=10):
    c = [z[0]]
    for _ in range(k - 1):                      # farthest-point start
        c.append(z[torch.cdist(z, torch.stack(c)).amin(1).argmax()])
    c = torch.stack(c)
    for _ in range(iters):
        a = torch.cdist(z, c).argmin(1)
        c = torch.stack([z[a == j].mean(0) if (a == j).any() else c[j] for j in range(k)])
    return c


def soft_assign(z, mu):
    q = 1 / (1 + torch.cdist(z, mu).pow(2))
    return q / q.sum(1, keepdim=True)


@torch.no_grad()
def sharpened(mu):
    q = soft_assign(enc(X), mu)
    p = q ** 2 / q.sum(0)
    return p / p.sum(1, keepdim=True), q.argmax(1)


def purity(labels):
    return sum(torch.bincount(truth[labels == j], minlength=K).max().item() for j in range(K) if (labels == j).any()) / len(X)


pre = pretrain(16)
print("reconstruction after pretraining %.4f" % pre)

with torch.no_grad():
    Z0 = enc(X)
mu = kmeans(Z0, K).requires_grad_()
push = torch.zeros_like(mu)
labels_before, kl_log = None, []
for it in range(24):
    if it % 6 == 0:
        P, labels = sharpened(mu)
        moved = 1.0 if labels_before is None else (labels != labels_before).float().mean().item()
        labels_before = labels
        print("it %2d purity %.3f moved %.3f" % (it, purity(labels), moved))

    idx = torch.randperm(len(X))[:64]
    z = enc(X[idx])
    kl = F.kl_div(soft_assign(z, mu).log(), P[idx], reduction="batchmean")
    rec = F.mse_loss(dec(z), X[idx])

    adam.zero_grad()
    (kl + 0.1 * rec).backward()
    adam.step()
    with torch.no_grad():
        push.mul_(0.5).add_(mu.grad)
        mu.sub_(0.5 * push)
    mu.grad = None
    kl_log.append(kl.item())

P, labels = sharpened(mu)
w = [sum(p.detach().abs().sum().item() for p in net.parameters()) for net in (enc, dec)]
print("RESULT %.6g %.6g %.6g %.6g %.6g %.6g" % (*w, mu.detach().abs().sum().item(), kl_log[-1], rec.item(), purity(labels)))
