import torch
from torch import nn
import torch.nn.functional as F


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def hvp(loss, params, v):
    grads = flat(torch.autograd.grad(loss, params, retain_graph=True))
    return flat(torch.autograd.grad(grads @ v, params, retain_graph=True))


def conjugate_gradient(product, b, rounds=5, damping=0.1):
    x, r = torch.zeros_like(b), b.clone()
    p = r.clone()
    for _ in range(rounds):
        hp = product(p) + damping * p
        alpha = r @ r / (p @ hp)
        x += alpha * p
        new = r - alpha * hp
        p = new + (new @ new) / (r @ r) * p
        r = new
    return x


torch.manual_seed(12)
model = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 1))
params = list(model.parameters())
x = torch.randn(64, 4)
y = x.prod(1, keepdim=True).tanh()
for it in range(5):
    loss = F.mse_loss(model(x), y)
    g = flat(torch.autograd.grad(loss, params, retain_graph=True))
    step = conjugate_gradient(lambda v: hvp(loss, params, v), g)
    with torch.no_grad():
        offset = 0
        for p in params:
            p -= 0.3 * step[offset:offset + p.numel()].view_as(p)
            offset += p.numel()
print(f"RESULT {loss.item():.6g}")
