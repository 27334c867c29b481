# unrolled GAN, Metz et al, arXiv:1611.02163
import torch as th
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

th.manual_seed(7)
K, ETA = 3, 0.3          # inner steps / inner lr
B, NZ = 32, 4

G = nn.Sequential(nn.Linear(NZ, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
gopt = th.optim.Adam(G.parameters(), lr=4e-3)
dopt = th.optim.SGD(D.parameters(), lr=ETA)


def mog(n):
    c = th.tensor([[1., 1.], [-1., 1.], [1., -1.], [-1., -1.]])
    return c[th.randint(4, (n,))] + .1 * th.randn(n, 2)


def f(phi, x, fx):
    """D's loss as a function of its weights phi"""
    r = functional_call(D, phi, (x,))
    s = functional_call(D, phi, (fx,))
    return F.softplus(-r).mean() + F.softplus(s).mean()


def unroll(x, fx):
    phi = {n: p.detach().clone().requires_grad_() for n, p in D.named_parameters()}
    for _ in range(K):
        gs = th.autograd.grad(f(phi, x, fx), list(phi.values()), create_graph=True)
        phi = {n: p - ETA * g for (n, p), g in zip(phi.items(), gs)}
    return phi


curve = []
for t in range(20):
    x = mog(B)
    fx = G(th.randn(B, NZ))
    phiK = unroll(x, fx)
    lg = -f(phiK, x, fx)
    gopt.zero_grad()
    lg.backward()
    gopt.step()

    x = mog(B)
    with th.no_grad():
        fx = G(th.randn(B, NZ))
    ld = f(dict(D.named_parameters()), x, fx)
    dopt.zero_grad()
    ld.backward()
    dopt.step()

    curve.append((lg.item(), ld.item()))
    if t % 4 == 3:
        print('t=%d  lg=%.4f  ld=%.4f' % (t + 1, *curve[-1]))

with th.no_grad():
    s = G(th.randn(200, NZ))
    quad = ((s[:, 0] > 0).long() * 2 + (s[:, 1] > 0).long()).bincount(minlength=4)
print('quadrants', quad.tolist())
tot = lambda m: th.cat([p.detach().flatten() for p in m.parameters()]).abs().sum().item()
print('RESULT %.6g %.6g %.6g %.6g %.6g' % (tot(G), tot(D), *curve[-1], s.std().item()))
