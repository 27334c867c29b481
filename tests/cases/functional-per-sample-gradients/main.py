import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(56)
net = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
params = {k: p.detach().clone() for k, p in net.named_parameters()}


def loss_fn(params, x, y):
    return (functional_call(net, params, (x.unsqueeze(0),)).squeeze() - y) ** 2


per_sample = vmap(grad(loss_fn), in_dims=(None, 0, 0))
x = torch.randn(60, 4)
y = x[:, 0] - x[:, 1]
for step in range(20):
    idx = torch.randint(60, (20,))
    grads = per_sample(params, x[idx], y[idx])
    norms = torch.cat([g.flatten(1) for g in grads.values()], 1).norm(dim=1)
    clip = (1.0 / norms).clamp(max=1.0)
    params = {k: p - 0.2 * torch.einsum("b,b...->...", clip, grads[k]) / 20 for k, p in params.items()}
with torch.no_grad():
    err = (functional_call(net, params, (x,)).squeeze() - y).pow(2).mean()
print(f"RESULT {err.item():.6g}")
