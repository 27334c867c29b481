import torch
from torch import nn

torch.manual_seed(140)
trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
params = list(trunk.parameters())
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
x = torch.randn(80, 6)
for step in range(30):
    out = trunk(x[torch.randint(80, (20,))])
    losses = [(out[:, 0] - 1).pow(2).mean(), (out[:, 1] + out[:, 0]).pow(2).mean()]
    flat = []
    for i, loss in enumerate(losses):
        grads = torch.autograd.grad(loss, params, retain_graph=i == 0)
        flat.append(torch.cat([g.flatten() for g in grads]))
    a, b = flat
    dot = a @ b
    if dot < 0:
        a, b = a - dot / b.dot(b) * b, b - dot / a.dot(a) * a
    total, at = a + b, 0
    for p in params:
        p.grad = total[at:at + p.numel()].view_as(p)
        at += p.numel()
    optimizer.step()
print("RESULT", *(f"{l.item():.6g}" for l in losses))
