import torch
from torch import nn


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def sharpness(loss, params, rounds=6):
    grad = flat(torch.autograd.grad(loss, params, create_graph=True))
    v = torch.randn_like(grad)
    v /= v.norm()
    for _ in range(rounds):
        hv = flat(torch.autograd.grad(grad @ v, params, retain_graph=True)).detach()
        value = torch.dot(v, hv).item()
        v = hv / (hv.norm() + 1e-8)
    return value


torch.manual_seed(45)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
params = list(net.parameters())
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
seen = []
for step in range(60):
    x = torch.randn(64, 5)
    y = x[:, :1] * x[:, 1:2]
    if step % 15 == 0:
        seen.append(sharpness(nn.functional.mse_loss(net(x), y), params))
        for group in optimizer.param_groups:
            group["lr"] = min(0.05, 1.0 / max(seen[-1], 1e-3))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.5f} {seen[-1]:.4f}")
