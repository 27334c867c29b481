import torch
from torch.nn.functional import softplus


def make_split(seed=5, n=40, d=12):
    g = torch.Generator().manual_seed(seed)
    w = torch.zeros(d, 1)
    w[:4] = torch.randn(4, 1, generator=g)
    X = torch.randn(2 * n, d, generator=g)
    y = X @ w + 0.3 * torch.randn(2 * n, 1, generator=g)
    return (X[:n], y[:n]), (X[n:], y[n:])


class InnerProblem:
    """Weighted ridge regression solved by a few gradient steps.

    The per-feature penalties are the outer variables.
    """

    def __init__(self, train, lr=0.1, steps=8):
        self.X, self.y = train
        self.lr = lr
        self.steps = steps

    def objective(self, w, log_pen):
        fit = (self.X @ w - self.y).pow(2).mean()
        reg = (softplus(log_pen) * w.squeeze(1).pow(2)).sum()
        return fit + reg

    def solve(self, w0, log_pen):
        w = w0
        for _ in range(self.steps):
            obj = self.objective(w, log_pen)
            (g,) = torch.autograd.grad(obj, w, create_graph=True)
            w = w - self.lr * g
        return w


class HyperTuner:
    def __init__(self, inner, valid, d, outer_lr=0.5):
        self.inner = inner
        self.Xv, self.yv = valid
        self.log_pen = torch.zeros(d, requires_grad=True)
        self.w0 = torch.zeros(d, 1, requires_grad=True)
        self.velocity = torch.zeros(d)
        self.outer_lr = outer_lr

    def validation(self, w):
        return (self.Xv @ w - self.yv).pow(2).mean()

    def step(self):
        w = self.inner.solve(self.w0, self.log_pen)
        outer = self.validation(w)
        hyper, = torch.autograd.grad(outer, [self.log_pen])
        with torch.no_grad():
            self.velocity.mul_(0.8).add_(hyper)
            self.log_pen.sub_(self.outer_lr * self.velocity)
        return outer.item()


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    train, valid = make_split()
    tuner = HyperTuner(InnerProblem(train), valid, d=train[0].size(1))
    curve = []
    for it in range(25):
        curve.append(tuner.step())
        if it % 5 == 0:
            print("outer", it, "validation", round(curve[-1], 5))
    pen = softplus(tuner.log_pen.detach())
    print("RESULT", f"{curve[0]:.6f} {curve[-1]:.6f} {pen[:4].mean():.6f} {pen[4:].mean():.6f}")


if __name__ == "__main__":
    main()
