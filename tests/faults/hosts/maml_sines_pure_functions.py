"""
MAML on sine waves. No nn.Module, no torch.optim: parameters are dicts, every
function returns new values.
"""
from functools import reduce
from math import pi

import torch
from torch.autograd import grad


def init(gen, widths):
    return {
        f"{kind}{i}": (torch.randn(a, b, generator=gen) * (2 / a) ** 0.5 if kind == "w" else torch.zeros(b)).requires_grad_()
        for i, (a, b) in enumerate(zip(widths, widths[1:]))
        for kind in "wb"
    }


def apply(theta, x):
    depth = len(theta) // 2
    layer = lambda h, i: (torch.tanh if i < depth - 1 else lambda z: z)(h @ theta[f"w{i}"] + theta[f"b{i}"])
    return reduce(layer, range(depth), x)


def mse(theta, batch):
    x, y = batch
    return ((apply(theta, x) - y) ** 2).mean()


def tree_map(f, *trees):
    return {k: f(*(t[k] for t in trees)) for k in trees[0]}


def value_and_grad(f, theta, create_graph=False):
    value = f(theta)
    grads = grad(value, list(theta.values()), create_graph=create_graph)
    return value, dict(zip(theta, grads))


def sample_task(gen):
    amplitude = 1 + torch.rand(1, generator=gen)
    phase = pi * torch.rand(1, generator=gen)

    def draw(n):
        x = 6 * torch.rand(n, 1, generator=gen) - 3
        return x, amplitude * torch.sin(x + phase)

    return draw(8), draw(8)


def adapt(theta, support, alpha, steps, create_graph):
    for _ in range(steps):
        _, g = value_and_grad(lambda th: mse(th, support), theta, create_graph=create_graph)
        theta = tree_map(lambda p, d: p - alpha * d, theta, g)
    return theta


def meta_objective(theta, tasks, alpha):
    per_task = [mse(adapt(theta, s, alpha, 2, True), q) for s, q in tasks]
    return sum(per_task) / len(per_task)


@torch.no_grad()
def momentum_sgd(theta, velocity, grads, lr, mu):
    velocity = tree_map(lambda v, g: mu * v + g, velocity, grads)
    theta = tree_map(lambda p, v: (p - lr * v).requires_grad_(), theta, velocity)
    return theta, velocity


def evaluate(theta, gen, alpha, n=4):
    def one():
        support, query = sample_task(gen)
        phi = adapt(theta, support, alpha, 2, False)
        with torch.no_grad():
            return mse(theta, query).item(), mse(phi, query).item()

    pairs = [one() for _ in range(n)]
    return tuple(sum(c) / n for c in zip(*pairs))


def run(steps=25, alpha=0.05, lr=0.008, mu=0.9):
    gen = torch.Generator().manual_seed(42)
    theta = init(gen, (1, 24, 24, 1))
    velocity = tree_map(torch.zeros_like, theta)
    trace: tuple[float, ...] = ()
    for step in range(steps):
        tasks = [sample_task(gen) for _ in range(4)]
        value, grads = value_and_grad(lambda th: meta_objective(th, tasks, alpha), theta)
        theta, velocity = momentum_sgd(theta, velocity, grads, lr, mu)
        trace += (value.item(),)
        if step % 5 == 4:
            print(f"{step:3d} meta-loss {sum(trace[-5:]) / 5:.4f}")
    return theta, trace, evaluate(theta, gen, alpha)


def total(theta) -> float:
    size = lambda t: t.detach().abs().sum().item()
    return sum(map(size, theta.values()))


if __name__ == "__main__":
    torch.manual_seed(42)
    theta, trace, (before, after) = run()
    print(f"held-out tasks: before {before:.4f} after {after:.4f}")
    print("RESULT %.6g %.6g %.6g %.6g" % (total(theta), trace[-1], before, after))
