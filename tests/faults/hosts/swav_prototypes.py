import torch
from torch import nn
from torch.nn import functional as F
from collections import deque
import itertools as it


def blobs(n, k, d):
    mu = torch.randn(k, d) * 2
    c = torch.randint(k, (n,))
    return mu[c] + torch.randn(n, d) * .5, c


def stream(X, bs):
    """two augmented views, forever"""
    while True:
        for ix in torch.randperm(len(X)).split(bs):
            x = X[ix]
            yield tuple(x * (1 + .2 * torch.randn_like(x)) + .2 * torch.randn_like(x) for _ in 'ab')


def sinkhorn(s, eps=.08, n=3):
    q = torch.exp((s - s.max()) / eps).T
    q /= q.sum()
    K, B = q.shape
    for _ in range(n):
        q /= q.sum(1, keepdim=True) * K
        q /= q.sum(0, keepdim=True) * B
    return (q * B).T


class SwAV(nn.Module):
    def __init__(self, d, h, z, K):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, z))
        self.C = nn.Linear(z, K, bias=False)

    @torch.no_grad()
    def renorm(self):
        self.C.weight.copy_(F.normalize(self.C.weight, dim=1))

    def forward(self, x):
        z = F.normalize(self.f(x), dim=1)
        return z, self.C(z)


@torch.no_grad()
def codes(m, s, mem):
    """assignment of this batch, balanced together with remembered features"""
    n = len(s)
    if mem:
        s = torch.cat([s, m.C(torch.cat(list(mem)))])
    return sinkhorn(s)[:n]


def main(steps=24, warm=8, tau=.15):
    torch.manual_seed(8)
    X, y = blobs(160, 6, 9)
    m = SwAV(9, 24, 8, 10)
    o = torch.optim.SGD(m.parameters(), lr=.4, momentum=.9)
    mem = deque(maxlen=3), deque(maxlen=3)
    tr = []
    for t, views in enumerate(it.islice(stream(X, 40), steps)):
        m.renorm()
        (za, sa), (zb, sb) = map(m, views)
        use = mem if t >= warm else ((), ())
        qa, qb = codes(m, sa, use[0]), codes(m, sb, use[1])
        l = -.5 * ((qa * F.log_softmax(sb / tau, 1)).sum(1).mean() + (qb * F.log_softmax(sa / tau, 1)).sum(1).mean())
        o.zero_grad()
        l.backward()
        o.step()
        for d, z in zip(mem, (za, zb)):
            d.append(z.detach())
        tr.append(l.item())
        if t % 6 == 5:
            print(f'{t:3d} {sum(tr[-6:]) / 6:.4f}')
    with torch.no_grad():
        a = m(X)[1].argmax(1)
        purity = sum(y[a == k].bincount().max().item() for k in a.unique()) / len(y)
    print(f'purity {purity:.3f}')
    S = lambda n: sum(p.abs().sum().item() for p in n.parameters())
    print('RESULT %.6g %.6g %.6g' % (S(m.f), S(m.C), tr[-1]))


main()
