import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F


class Meta:
    def __init__(self, net, lr_inner=0.1, warmup=15):
        self.net = net
        self.rates = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(torch.full((), lr_inner)) for n, _ in net.named_parameters()})
        self.outer = torch.optim.Adam([*net.parameters(), *self.rates.parameters()], lr=5e-3)
        self.warmup = warmup

    def adapted(self, x, y, second):
        fast = dict(self.net.named_parameters())
        for _ in range(2):
            loss = F.cross_entropy(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second)
            fast = {n: p - self.rates[n.replace(".", "_")] * g for (n, p), g in zip(fast.items(), grads)}
        return fast

    def step(self, tasks, epoch):
        self.outer.zero_grad()
        total = 0.0
        for xs, ys, xq, yq in tasks:
            fast = self.adapted(xs, ys, second=epoch >= self.warmup)
            loss = F.cross_entropy(functional_call(self.net, fast, (xq,)), yq) / len(tasks)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.outer.step()
        return total


def task():
    centres = torch.randn(3, 6)
    def draw(n):
        y = torch.arange(3).repeat_interleave(n)
        return centres[y] + 0.5 * torch.randn(3 * n, 6), y
    return *draw(3), *draw(5)


torch.manual_seed(37)
meta = Meta(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3)))
curve = [meta.step([task() for _ in range(4)], epoch) for epoch in range(30)]
print(f"RESULT {curve[0]:.5f} {curve[-1]:.5f}")
