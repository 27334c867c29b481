import torch
from torch import nn
from torch.func import functional_call


def sinusoid():
    a, s = 0.5 + 2 * torch.rand(()), 3.0 * torch.rand(())
    def draw(n):
        x = 6 * torch.rand(n, 1) - 3
        return x, a * torch.sin(x + s)
    return draw


def adapt(net, x, y, rate, steps):
    fast = {name: p for name, p in net.named_parameters()}
    for _ in range(steps):
        weights = {k: v.detach().requires_grad_() for k, v in fast.items()}
        loss = nn.functional.mse_loss(functional_call(net, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()))
        fast = {k: v - rate * g for (k, v), g in zip(fast.items(), grads)}
    return fast


def meta_step(net, optimizer, tasks):
    optimizer.zero_grad()
    losses = []
    for task in tasks:
        fast = adapt(net, *task(10), rate=0.02, steps=2)
        x, y = task(10)
        losses.append(nn.functional.mse_loss(functional_call(net, fast, (x,)), y))
    meta_loss = torch.stack(losses).mean()
    meta_loss.backward()
    optimizer.step()
    return meta_loss.item()


torch.manual_seed(27)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(25):
    value = meta_step(net, optimizer, [sinusoid() for _ in range(4)])
print(f"RESULT {value:.5f}")
