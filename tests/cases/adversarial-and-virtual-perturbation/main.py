import torch
from torch import nn
import torch.nn.functional as F


def kl(p_logits, q_logits):
    return F.kl_div(q_logits.log_softmax(-1), p_logits.softmax(-1), reduction="batchmean")


def virtual_direction(model, x, logits, xi=1e-2, rounds=1):
    d = torch.randn_like(x)
    for _ in range(rounds):
        d = (xi * F.normalize(d, dim=1)).requires_grad_()
        d = torch.autograd.grad(kl(logits.detach(), model(x + d)), d)[0]
    return F.normalize(d, dim=1)


torch.manual_seed(86)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
curve = []
for step in range(30):
    x, u = torch.randn(16, 5), torch.randn(48, 5)
    y = x[:, :3].argmax(1)
    logits = model(u)
    r = 0.5 * virtual_direction(model, u, logits)
    smooth = kl(logits.detach(), model(u + r))
    x_adv = x.clone().requires_grad_()
    g = torch.autograd.grad(F.cross_entropy(model(x_adv), y), x_adv)[0]
    loss = F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(x + 0.1 * g.sign()), y) + smooth
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve.append(loss.detach())
print(f"RESULT {torch.stack(curve).mean().item():.6g}")
