# Sharpness-aware minimisation, with the top Hessian eigenvalue tracked by power iteration.
import torch as th
import torch.nn.functional as F

th.manual_seed(314)


class SAM(th.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @th.no_grad()
    def ascend(self):
        norm = th.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]).norm()
        for g in self.param_groups:
            for p in g["params"]:
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @th.no_grad()
    def descend(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.sub_(self.state[p].pop("e"))
        self.base.step()
        self.zero_grad()

    def step(self, closure):
        with th.enable_grad():
            first = closure()
        self.ascend()
        with th.enable_grad():
            closure()
        self.descend()
        return first


def top_eigenvalue(net, loss_fn, iters=6):
    params = list(net.parameters())
    grads = th.autograd.grad(loss_fn(), params, create_graph=True)
    gen = th.Generator().manual_seed(0)
    v = [th.randn(p.shape, generator=gen) for p in params]
    lam = 0.0
    for i in range(iters):
        n = th.sqrt(sum((u * u).sum() for u in v))
        v = [u / n for u in v]
        hv = th.autograd.grad(grads, params, grad_outputs=v, retain_graph=i < iters - 1)
        lam = sum((a * b).sum() for a, b in zip(v, hv)).item()
        v = hv
    return lam


def two_moons(n):
    a = th.rand(n) * th.pi
    s = th.arange(n) % 2
    x = th.where(s == 0, a.cos(), 1 - a.cos())
    y = th.where(s == 0, a.sin(), 0.5 - a.sin())
    return th.stack([x, y], 1) + 0.1 * th.randn(n, 2), s


def run(kind, X, Y, steps=18):
    th.manual_seed(2)
    net = th.nn.Sequential(th.nn.Linear(2, 20), th.nn.Tanh(), th.nn.Linear(20, 20), th.nn.Tanh(), th.nn.Linear(20, 2))
    if kind == "sam":
        opt = SAM(net.parameters(), th.optim.SGD, rho=0.1, lr=0.3, momentum=0.8)
    else:
        opt = th.optim.SGD(net.parameters(), lr=0.3, momentum=0.8)
    trace = []
    for s in range(steps):
        def closure():
            opt.zero_grad()
            l = F.cross_entropy(net(X), Y)
            l.backward()
            return l
        trace.append(opt.step(closure).item())
        if s % 6 == 5:
            lam = top_eigenvalue(net, lambda: F.cross_entropy(net(X), Y))
            print("%-4s step %2d loss %.4f lambda_max %.4f" % (kind, s, trace[-1], lam))
    size = sum(p.detach().abs().sum().item() for p in net.parameters())
    return size, trace[-1], lam


X, Y = two_moons(80)
out = [v for kind in ("sgd", "sam") for v in run(kind, X, Y)]
print("RESULT " + " ".join("%.6g" % v for v in out))
