import torch
from torch import nn


def scalar_mlp(n_hidden=24):
    return nn.Sequential(
        nn.Linear(2, n_hidden), nn.Tanh(),
        nn.Linear(n_hidden, n_hidden), nn.Softplus(),
        nn.Linear(n_hidden, 1, bias=False),
    )


class HamiltonianNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.H = scalar_mlp()

    def field(self, q, p, differentiable=True):
        q, p = _leaf(q), _leaf(p)
        with torch.enable_grad():
            H = self.H(torch.cat([q, p], 1)).sum()
            dHdq, dHdp = torch.autograd.grad(H, (q, p), create_graph=differentiable)
        return dHdp, -dHdq


class LagrangianNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rest = scalar_mlp()

    def L(self, q, v):
        return 0.5 * v ** 2 + 0.3 * self.rest(torch.cat([q, v], 1))

    def field(self, q, v, differentiable=True):
        q, v = _leaf(q), _leaf(v)
        with torch.enable_grad():
            L = self.L(q, v).sum()
            L_q, L_v = torch.autograd.grad(L, (q, v), create_graph=True)
            L_vq, L_vv = torch.autograd.grad(L_v.sum(), (q, v), create_graph=differentiable)
            if not differentiable:
                L_q = L_q.detach()
            acc = (L_q - L_vq * v.detach()) / L_vv.clamp_min(0.1)
        return v.detach(), acc


def _leaf(z):
    return z.detach().clone().requires_grad_()
