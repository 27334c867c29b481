"""
What do the gradients of my two tasks look like on the shared trunk?
Tracks norms and angles, projects conflicting gradients (PCGrad), clips, and logs everything.

Data: accelerometer-like signals; task A = activity class, task B = step frequency.
"""
import math
import statistics as st

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, parameters_to_vector

SEED = 606
CLIP = 1.0
torch.manual_seed(SEED)


class SharedTrunk(nn.Module):
    def __init__(self, length=32, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(length, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.activity = nn.Linear(width, 3)
        self.frequency = nn.Linear(width, 1)

    def forward(self, signal):
        z = self.trunk(signal)
        return self.activity(z), self.frequency(z).squeeze(-1)


def make_signals(n, length=32):
    cls = torch.randint(3, (n,))
    freq = 1 + cls.float() + 0.5 * torch.rand(n)
    t = torch.linspace(0, 2 * math.pi, length)
    wave = torch.sin(freq[:, None] * t) * (1 + 0.5 * cls[:, None])
    return wave + 0.3 * torch.randn(n, length), cls, freq


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def unflat(vector, like):
    sizes = [p.numel() for p in like]
    return [piece.view_as(p) for piece, p in zip(vector.split(sizes), like)]


def project_conflict(a, b):
    """remove from a what points against b"""
    dot = torch.dot(a, b)
    return a - dot / b.dot(b).clamp_min(1e-12) * b if dot < 0 else a


net = SharedTrunk()
shared = list(net.trunk.parameters())
heads = list(net.activity.parameters()) + list(net.frequency.parameters())
optimizer = torch.optim.SGD(net.parameters(), lr=0.15, momentum=0.8)
book = {k: [] for k in ("activity", "frequency", "cosine", "norm_a", "norm_b", "total_norm", "deadest")}

for iteration in range(30):
    x, cls, freq = make_signals(32)
    logits, f_hat = net(x)
    loss_a = nn.functional.cross_entropy(logits, cls)
    loss_b = nn.functional.smooth_l1_loss(f_hat, freq)

    ga = flat(torch.autograd.grad(loss_a, shared, retain_graph=True))
    gb = flat(torch.autograd.grad(loss_b, shared, retain_graph=True))
    cosine = nn.functional.cosine_similarity(ga, gb, dim=0)
    surgical = project_conflict(ga, gb) + project_conflict(gb, ga)

    optimizer.zero_grad()
    (loss_a + loss_b).backward(inputs=heads)
    for p, g in zip(shared, unflat(surgical, shared)):
        p.grad = g.clone()
    total_norm = clip_grad_norm_(net.parameters(), CLIP)
    deadest = max((p.grad == 0).float().mean().item() for p in net.parameters())
    optimizer.step()

    for key, value in (("activity", loss_a), ("frequency", loss_b), ("cosine", cosine),
                       ("norm_a", ga.norm()), ("norm_b", gb.norm()), ("total_norm", total_norm)):
        book[key].append(value.item())
    book["deadest"].append(deadest)
    if iteration % 10 == 9:
        print("iter %2d | " % iteration + " | ".join(f"{k} {st.mean(v[-10:]):.4f}" for k, v in book.items()))

conflicts = sum(c < 0 for c in book["cosine"])
print(f"{conflicts} of {len(book['cosine'])} iterations had conflicting gradients")

net.eval()
with torch.no_grad():
    x, cls, freq = make_signals(128)
    logits, f_hat = net(x)
    accuracy = (logits.argmax(1) == cls).float().mean().item()
    mae = (f_hat - freq).abs().mean().item()
    trunk_mass = parameters_to_vector(shared).abs().sum().item()
    head_mass = parameters_to_vector(heads).abs().sum().item()
print("RESULT %.6g %.6g %.6g %.6g %.6g %.6g" % (trunk_mass, head_mass, book["activity"][-1], book["frequency"][-1], accuracy, mae))
