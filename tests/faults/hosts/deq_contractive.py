from typing import Callable, NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


class SolverInfo(NamedTuple):
    z: torch.Tensor
    iters: int
    residual: float


def picard(f: Callable, z: torch.Tensor, tol: float = 1e-4, max_iter: int = 30) -> SolverInfo:
    for k in range(1, max_iter + 1):
        nxt = f(z)
        res = ((nxt - z).norm() / (1e-6 + nxt.norm())).item()
        z = nxt
        if res < tol:
            break
    return SolverInfo(z, k, res)


class EquilibriumLayer(nn.Module):
    """z* = tanh(0.9 W z* + U x), W has spectral norm one. Backward by the implicit function theorem."""

    def __init__(self, d_in: int, d_z: int):
        super().__init__()
        self.d_z = d_z
        self.W = spectral_norm(nn.Linear(d_z, d_z, bias=False), n_power_iterations=2)
        self.U = weight_norm(nn.Linear(d_in, d_z))
        self.forward_iters, self.backward_iters = [], []

    def forward(self, x):
        weight = 0.9 * self.W.weight
        injection = self.U(x)

        def f(z):
            return torch.tanh(F.linear(z, weight) + injection)

        with torch.no_grad():
            sol = picard(f, torch.zeros(len(x), self.d_z))
        z = f(sol.z)
        if not self.training:
            return z, None

        self.forward_iters.append(sol.iters)
        z_probe = z.detach().requires_grad_()
        f_probe = f(z_probe)

        def implicit(grad):
            back = picard(
                lambda g: torch.autograd.grad(f_probe, z_probe, g, retain_graph=True)[0] + grad, grad
            )
            self.backward_iters.append(back.iters)
            return back.z

        z.register_hook(implicit)
        return z, self.jacobian_penalty(f, z)

    @staticmethod
    def jacobian_penalty(f, z):
        z = z.detach().requires_grad_()
        eps = torch.randn_like(z)
        vjp, = torch.autograd.grad(f(z), z, eps, create_graph=True)
        return vjp.square().sum(1).mean() / z.size(1)


class DEQClassifier(nn.Module):
    def __init__(self, d_in=4, d_z=16, n_classes=3):
        super().__init__()
        self.deq = EquilibriumLayer(d_in, d_z)
        self.head = nn.Linear(d_z, n_classes)

    def forward(self, x):
        z, jac = self.deq(x)
        return self.head(z), jac


def rings(n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    ang = 6.2832 * torch.rand(n, generator=gen)
    r = 0.6 + 0.7 * y + 0.1 * torch.randn(n, generator=gen)
    p = torch.stack([r * ang.cos(), r * ang.sin()], 1)
    return torch.cat([p, p ** 2], 1), y


def main():
    torch.manual_seed(23)
    gen = torch.Generator().manual_seed(24)
    model = DEQClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    x_test, y_test = rings(90, gen)
    last = None
    for step in range(25):
        x, y = rings(40, gen)
        logits, jac = model(x)
        ce = F.cross_entropy(logits, y)
        opt.zero_grad()
        (ce + 0.2 * jac).backward()
        opt.step()
        last = (ce.item(), jac.item())
        if step % 6 == 0:
            print(f"{step:2d} ce {last[0]:.4f} jac {last[1]:.4f} iters {model.deq.forward_iters[-1]}/{model.deq.backward_iters[-1]}")
    model.eval()
    with torch.no_grad():
        acc = (model(x_test)[0].argmax(1) == y_test).float().mean().item()
    print("accuracy %.4f" % acc)
    groups = [model.deq.W, model.deq.U, model.head]
    print("RESULT", *("%.6g" % sum(p.detach().abs().sum().item() for p in m.parameters()) for m in groups), "%.6g %.6g" % last)


main()
