"""Second-order MAML on sinusoid regression (Finn et al. 2017), tiny version."""
import math

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(7)

INNER_LR = 0.08
INNER_STEPS = 2
META_BATCH = 4
META_ITERS = 20
SHOTS = 8


def make_net():
    return nn.Sequential(
        nn.Linear(1, 24), nn.Tanh(),
        nn.Linear(24, 24), nn.Tanh(),
        nn.Linear(24, 1),
    )


class SineTask:
    def __init__(self, gen):
        self.amp = 0.5 + 2.0 * torch.rand(1, generator=gen)
        self.phase = math.pi * torch.rand(1, generator=gen)
        self.gen = gen

    def sample(self, n):
        x = torch.rand(n, 1, generator=self.gen) * 8.0 - 4.0
        return x, self.amp * torch.sin(x + self.phase)


def mse(net, params, x, y):
    return ((functional_call(net, params, (x,)) - y) ** 2).mean()


def adapt(net, params, x, y, steps, second_order=True):
    fast = dict(params)
    for _ in range(steps):
        loss = mse(net, fast, x, y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second_order)
        fast = {k: p - INNER_LR * g for (k, p), g in zip(fast.items(), grads)}
    return fast


def evaluate(net, n_tasks=5):
    gen = torch.Generator().manual_seed(1234)
    before = after = 0.0
    for _ in range(n_tasks):
        task = SineTask(gen)
        xs, ys = task.sample(SHOTS)
        xq, yq = task.sample(32)
        params = {k: p.detach().clone().requires_grad_() for k, p in net.named_parameters()}
        fast = adapt(net, params, xs, ys, INNER_STEPS, second_order=False)
        with torch.no_grad():
            before += mse(net, params, xq, yq).item() / n_tasks
            after += mse(net, fast, xq, yq).item() / n_tasks
    return before, after


def main():
    net = make_net()
    meta_opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    gen = torch.Generator().manual_seed(0)
    history = []

    for it in range(META_ITERS):
        meta_opt.zero_grad()
        running = 0.0
        for _ in range(META_BATCH):
            task = SineTask(gen)
            xs, ys = task.sample(SHOTS)
            xq, yq = task.sample(SHOTS)
            fast = adapt(net, dict(net.named_parameters()), xs, ys, INNER_STEPS)
            query_loss = mse(net, fast, xq, yq) / META_BATCH
            query_loss.backward()
            running += query_loss.item()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        meta_opt.step()
        history.append(running)
        if it % 5 == 0:
            print(f"iter {it:3d}  query mse {running:.4f}")

    before, after = evaluate(net)
    print(f"held-out: before adaptation {before:.4f}, after {after:.4f}")
    mass = sum(p.detach().abs().sum().item() for p in net.parameters())
    print("RESULT %.6g %.6g %.6g" % (mass, history[-1], after))


if __name__ == "__main__":
    main()
