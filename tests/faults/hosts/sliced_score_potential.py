# Sliced score matching (Song et al. 2019) for an unnormalised density
#   p(x) ~ exp(-psi(x)),   s(x) = -d psi / dx
#   J = E_v [ v . grad(v . s) + 1/2 (v . s)^2 ]

import torch

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)

# psi is a two-layer net given by bare tensors
H = 20
W1 = (torch.randn(2, H) * 0.8).requires_grad_()
b1 = torch.zeros(H, requires_grad=True)
W2 = (torch.randn(H, H) / H ** 0.5).requires_grad_()
b2 = torch.zeros(H, requires_grad=True)
a = (torch.randn(H) / H ** 0.5).requires_grad_()
kappa = torch.tensor(0.5, requires_grad=True)        # confining term
theta = [W1, b1, W2, b2, a, kappa]


def psi(x):
    h = torch.tanh(x @ W1 + b1)
    h = torch.nn.functional.softplus(h @ W2 + b2)
    return h @ a + 0.5 * kappa ** 2 * (x ** 2).sum(-1)


def score(x, differentiable):
    return -torch.autograd.grad(psi(x).sum(), x, create_graph=differentiable)[0]


def J(x, projections=2):
    x = x.detach().requires_grad_()
    s = score(x, differentiable=True)
    acc = 0.0
    for _ in range(projections):
        v = torch.randn_like(x).sign()
        vs = (v * s).sum(-1)
        dvs, = torch.autograd.grad(vs.sum(), x, create_graph=True)
        acc = acc + ((v * dvs).sum(-1) + 0.5 * vs ** 2).mean()
    return acc / projections


def langevin(n, steps, eps):
    x = torch.randn(n, 2)
    for _ in range(steps):
        x.requires_grad_()
        drift = score(x, differentiable=False)
        x = (x + 0.5 * eps * drift).detach() + eps ** 0.5 * torch.randn(n, 2)
    return x


def banana(n):
    u = torch.randn(n, 2)
    return torch.stack([u[:, 0], 0.4 * u[:, 1] + 0.5 * u[:, 0] ** 2 - 0.5], -1)


X = banana(256)
opt = torch.optim.Adam([{"params": theta[:-1]}, {"params": [kappa], "lr": 5e-2}], lr=2e-2)
trace = []
for k in range(30):
    batch = X[torch.randint(len(X), (64,))]
    opt.zero_grad()
    obj = J(batch)
    obj.backward()
    opt.step()
    trace.append(obj.item())
    if k % 6 == 5:
        print("k = %2d   J = % .4f   kappa = %.3f" % (k + 1, sum(trace[-6:]) / 6, kappa.item()))

xs = langevin(100, 25, 0.05)
m2 = (xs ** 2).mean(0)
print("second moments, model %.3f %.3f  data %.3f %.3f" % (*m2.tolist(), *(X ** 2).mean(0).tolist()))
print("RESULT %.6g %.6g %.6g %.6g" % (sum(t.detach().abs().sum().item() for t in theta[:-1]), kappa.item(), trace[-1], m2.sum().item()))
