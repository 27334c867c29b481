# implicit MAML (Rajeswaran et al. 2019): the meta gradient from a CG solve at the inner optimum
import torch
from torch.autograd import grad
import numpy as np

torch.manual_seed(1); rs = np.random.RandomState(1)
lam, eta, M, J = 2.0, 0.1, 14, 3          # prox strength, inner lr, meta steps, tasks per step
sizes = [(1, 16), (16,), (16, 1), (1,)]
ns = [int(np.prod(s)) for s in sizes]


def unpack(v):
    return [c.view(s) for c, s in zip(v.split(ns), sizes)]

def L(v, x, y):
    A, a, B, b = unpack(v)
    return ((torch.tanh(x @ A + a) @ B + b - y) ** 2).mean()

def task():
    s, o = rs.uniform(.5, 2), rs.uniform(-1, 1)
    x = torch.tensor(rs.uniform(-2, 2, (20, 1)), dtype=torch.float32)
    y = s * torch.sin(1.5 * x) + o
    return (x[:10], y[:10]), (x[10:], y[10:])

def solve_inner(th, tr, steps=8):
    phi = th.detach().clone().requires_grad_()
    for _ in range(steps):
        obj = L(phi, *tr) + lam / 2 * (phi - th.detach()).pow(2).sum()
        g, = grad(obj, phi)
        phi = (phi - eta * g).detach().requires_grad_()
    return phi

def cg(Av, b, iters=5):
    x = torch.zeros_like(b); r = b.clone(); p = r.clone(); rr = r @ r
    for _ in range(iters):
        Ap = Av(p)
        a = rr / (p @ Ap + 1e-10)
        x = x + a * p
        r = r - a * Ap
        rn = r @ r
        if rn < 1e-10: break
        p = r + rn / rr * p
        rr = rn
    return x

def meta_grad(th, tr, te):
    phi = solve_inner(th, tr)
    lte = L(phi, *te)
    v, = grad(lte, phi)
    gtr, = grad(L(phi, *tr), phi, create_graph=True)
    Av = lambda p: p + grad(gtr, phi, p, retain_graph=True)[0] / lam
    return cg(Av, v), lte.item()


theta = torch.cat([torch.randn(16), torch.randn(16), torch.randn(16) / 4, torch.zeros(1)]).requires_grad_()
opt = torch.optim.Adam([theta], lr=0.03)
hist = []
for m in range(M):
    gs, ls = zip(*(meta_grad(theta, *task()) for _ in range(J)))
    theta.grad = torch.stack(gs).mean(0)
    opt.step()
    hist.append(sum(ls) / J)
    if m % 3 == 0: print(m, '%.4f' % hist[-1], '|g| %.4f' % theta.grad.norm().item())

rs = np.random.RandomState(77)
with_adapt = []
for _ in range(5):
    tr, te = task()
    phi = solve_inner(theta, tr)
    with torch.no_grad():
        with_adapt.append(L(phi, *te).item())
print('held out', ' '.join('%.3f' % w for w in with_adapt))
print('RESULT %.6g %.6g %.6g' % (theta.detach().abs().sum(), hist[-1], np.mean(with_adapt)))
