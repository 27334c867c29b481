from types import SimpleNamespace

import torch

from implicit import hypergradient


def sparse_problem(n, d, live, seed):
    gen = torch.Generator().manual_seed(seed)
    w = torch.zeros(d)
    w[:live] = torch.randn(live, generator=gen) * 2
    x = torch.randn(2 * n, d, generator=gen)
    y = x @ w + 0.5 * torch.randn(2 * n, generator=gen)
    return (x[:n], y[:n]), (x[n:], y[n:])


class Ridge:
    """Linear model whose log penalties (one for each feature) are tuned on held-out data."""

    def __init__(self, d):
        self.w = torch.zeros(d, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)
        self.log_penalty = torch.full((d,), -2.0, requires_grad=True)

    @property
    def weights(self):
        return [self.w, self.b]

    def error(self, data):
        x, y = data
        return 0.5 * (x @ self.w + self.b - y).pow(2).mean()

    def inner(self, data):
        return self.error(data) + 0.5 * (self.log_penalty.exp() * self.w.pow(2)).sum()


def solve_inner(model, data, opt, iters):
    for _ in range(iters):
        opt.zero_grad()
        loss = model.inner(data)
        loss.backward(inputs=model.weights)
        opt.step()
    return loss.item()


def main():
    cfg = SimpleNamespace(n=20, d=10, live=3, rounds=12, inner_iters=15, lr_inner=0.2, lr_outer=0.3)
    train, valid = sparse_problem(cfg.n, cfg.d, cfg.live, seed=13)
    model = Ridge(cfg.d)
    opt_w = torch.optim.SGD(model.weights, lr=cfg.lr_inner)
    opt_h = torch.optim.Adam([model.log_penalty], lr=cfg.lr_outer)
    for r in range(cfg.rounds):
        inner = solve_inner(model, train, opt_w, cfg.inner_iters)
        (g,) = hypergradient(model.inner(train), model.error(valid), model.weights, [model.log_penalty])
        opt_h.zero_grad()
        model.log_penalty.grad = g
        opt_h.step()
        if r % 4 == 3:
            print(f"round {r + 1} inner {inner:.4f} valid {model.error(valid).item():.4f}")
    lam = model.log_penalty.detach()
    print(f"RESULT {model.error(valid).item():.6g} {lam[:cfg.live].mean().item():.6g} {lam[cfg.live:].mean().item():.6g}")


if __name__ == "__main__":
    main()
