# Reconstruct an image from its gradients only (SIREN, Poisson problem).
# The training procedure is a generator; the caller decides when to stop.
import argparse
import math

import torch
from torch import nn


class Sine(nn.Module):
    def __init__(self, n_in, n_out, omega, first=False):
        super().__init__()
        self.linear, self.omega = nn.Linear(n_in, n_out), omega
        bound = 1 / n_in if first else math.sqrt(6 / n_in) / omega
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


def make_siren(width, omega):
    return nn.Sequential(Sine(2, width, omega, True), Sine(width, width, omega), nn.Linear(width, 1, bias=False))


def scene(xy):
    """Two blobs and a ramp."""
    a = torch.exp(-8 * ((xy - 0.3) ** 2).sum(-1))
    b = -0.7 * torch.exp(-12 * ((xy + 0.4) ** 2).sum(-1))
    return a + b + 0.2 * xy[..., 0]


def spatial_gradient(field, xy, **kw):
    return torch.autograd.grad(field.sum(), xy, **kw)[0]


def sampler(batch):
    while True:
        yield torch.rand(batch, 2) * 2 - 1


def train(siren, optimiser, points, clip):
    for iteration, xy in enumerate(points):
        xy.requires_grad_(True)
        wanted = spatial_gradient(scene(xy), xy)
        found = spatial_gradient(siren(xy), xy, create_graph=True)
        mismatch = (found - wanted).square().sum(-1).mean()
        optimiser.zero_grad()
        mismatch.backward()
        norm = nn.utils.clip_grad_norm_(siren.parameters(), clip)
        optimiser.step()
        yield {"iteration": iteration, "mismatch": mismatch.item(), "grad_norm": norm.item()}


def render(siren, side=16):
    axis = torch.linspace(-1, 1, side)
    xy = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    with torch.no_grad():
        image, truth = siren(xy).squeeze(-1), scene(xy)
    offset = (truth - image).mean()          # a constant is not seen by the gradient
    return (image + offset - truth).square().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--omega", type=float, default=6.0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--iterations", type=int, default=40)
    ap.add_argument("--good-enough", type=float, default=0.02)
    args = ap.parse_args()

    torch.manual_seed(0)
    siren = make_siren(args.width, args.omega)
    optimiser = torch.optim.Adam(siren.parameters(), lr=args.lr)
    smooth, last = None, None
    for metrics in train(siren, optimiser, sampler(128), clip=5.0):
        last = metrics
        smooth = metrics["mismatch"] if smooth is None else 0.9 * smooth + 0.1 * metrics["mismatch"]
        if metrics["iteration"] % 10 == 0:
            print("it {iteration:3d} mismatch {mismatch:.5f} |g| {grad_norm:.3f}".format(**metrics))
        if smooth < args.good_enough or metrics["iteration"] + 1 == args.iterations:
            break
    weight = sum(p.detach().abs().sum().item() for p in siren.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (weight, last["mismatch"], smooth, render(siren)))


main()
