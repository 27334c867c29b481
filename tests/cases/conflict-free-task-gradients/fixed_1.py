import torch
from torch import nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self, dim=10, width=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.depth = nn.Linear(width, 1)
        self.normal = nn.Linear(width, 3)
        self.segment = nn.Linear(width, 4)

    def forward(self, x):
        z = self.encoder(x)
        return self.depth(z), self.normal(z), self.segment(z)


def flatten(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project(task_grads):
    """Drop from every task's gradient what points against another task's."""
    out = []
    for i, g in enumerate(task_grads):
        g = g.clone()
        for j, other in enumerate(task_grads):
            if i != j and (dot := g @ other) < 0:
                g -= dot / other.norm().square() * other
        out.append(g)
    return torch.stack(out).sum(0)


def assign(params, flat):
    offset = 0
    for p in params:
        p.grad = flat[offset:offset + p.numel()].view_as(p).clone()
        offset += p.numel()


torch.manual_seed(77)
model = MultiTask()
shared = list(model.encoder.parameters())
opt_shared = torch.optim.Adam(shared, lr=3e-3)
teacher = torch.randn(10, 8)
for step in range(40):
    x = torch.randn(24, 10)
    t = torch.tanh(x @ teacher)
    depth, normal, segment = model(x)
    losses = [F.mse_loss(depth, t[:, :1]), F.l1_loss(normal, t[:, 1:4]), F.cross_entropy(segment, t[:, 4:].argmax(1))]
    grads = []
    for loss in losses:
        grads.append(flatten(torch.autograd.grad(loss, shared, retain_graph=True)))
    assign(shared, project(grads))
    opt_shared.step()
print("RESULT", *(f"{l.item():.6g}" for l in losses))
