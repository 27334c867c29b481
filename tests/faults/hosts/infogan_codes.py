import torch
from torch import nn, optim
from torch.nn import functional as F
from itertools import chain
from types import SimpleNamespace as NS

torch.manual_seed(31)
hp = NS(noise=5, cats=3, cont=1, hidden=32, bs=48, iters=20, lam_cat=1.0, lam_cont=0.3)


class Trunk(nn.Module):
    """layers that D and Q have in common"""
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, hp.hidden)
        self.b = nn.Linear(hp.hidden, hp.hidden)

    def forward(self, x):
        return F.leaky_relu(self.b(F.leaky_relu(self.a(x), 0.1)), 0.1)


class QHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.cat = nn.Linear(hp.hidden, hp.cats)
        self.mu = nn.Linear(hp.hidden, hp.cont)
        self.logvar = nn.Linear(hp.hidden, hp.cont)

    def forward(self, h):
        return self.cat(h), self.mu(h), self.logvar(h).clamp(-4, 4)


G = nn.Sequential(nn.Linear(hp.noise + hp.cats + hp.cont, hp.hidden), nn.ReLU(),
                  nn.Linear(hp.hidden, hp.hidden), nn.ReLU(), nn.Linear(hp.hidden, 2))
trunk, D_head, Q = Trunk(), nn.Linear(hp.hidden, 1), QHead()

opt_D = optim.Adam(chain(trunk.parameters(), D_head.parameters()), lr=1e-3, betas=(.5, .99))
opt_GQ = optim.Adam([{'params': G.parameters(), 'lr': 5e-3},
                     {'params': Q.parameters(), 'lr': 2e-2}], betas=(.5, .99))


def real_batch(n):
    # three bars at different angles
    k = torch.randint(3, (n,))
    t = torch.rand(n) * 2 - 1
    ang = k * 2.0944
    centre = torch.stack([torch.cos(ang), torch.sin(ang)], 1)
    along = torch.stack([-torch.sin(ang), torch.cos(ang)], 1)
    return centre + 0.5 * t[:, None] * along + 0.03 * torch.randn(n, 2)


def draw_latent(n):
    c = torch.randint(hp.cats, (n,))
    u = torch.rand(n, hp.cont) * 2 - 1
    z = torch.cat([torch.randn(n, hp.noise), F.one_hot(c, hp.cats).float(), u], 1)
    return z, c, u


def gauss_nll(x, mu, logvar):
    return (0.5 * (logvar + (x - mu) ** 2 / logvar.exp())).mean()


hist = {'D': [], 'G': [], 'I_cat': [], 'I_cont': []}
for it in range(hp.iters):
    x = real_batch(hp.bs)
    z, c, u = draw_latent(hp.bs)
    xf = G(z)

    opt_D.zero_grad()
    logit = D_head(trunk(torch.cat([x, xf.detach()]))).squeeze(1)
    target = torch.cat([torch.full((hp.bs,), 0.9), torch.zeros(hp.bs)])
    loss_D = F.binary_cross_entropy_with_logits(logit, target)
    loss_D.backward()
    opt_D.step()

    opt_GQ.zero_grad()
    h = trunk(xf)
    loss_G = F.softplus(-D_head(h)).mean()
    cat_logits, mu, logvar = Q(h)
    I_cat = F.cross_entropy(cat_logits, c)
    I_cont = gauss_nll(u, mu, logvar)
    (loss_G + hp.lam_cat * I_cat + hp.lam_cont * I_cont).backward()
    opt_GQ.step()

    for k, v in zip(hist, (loss_D, loss_G, I_cat, I_cont)):
        hist[k].append(v.item())
    if (it + 1) % 5 == 0:
        print(it + 1, {k: round(sum(v[-5:]) / 5, 4) for k, v in hist.items()})

with torch.no_grad():
    z, c, u = draw_latent(200)
    acc = (Q(trunk(G(z)))[0].argmax(1) == c).float().mean().item()
print('code recovered: %.3f' % acc)

absum = lambda *ms: sum(p.detach().abs().sum().item() for m in ms for p in m.parameters())
print('RESULT %.6g %.6g %.6g %.6g %.6g' % (absum(G), absum(trunk, D_head), absum(Q), hist['I_cat'][-1], acc))
