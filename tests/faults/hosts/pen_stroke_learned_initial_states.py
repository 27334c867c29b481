"""Pen traces of a handful of writers. Each writer owns a learned initial state of
the recurrent cell; mixture density head as in Graves (2013), heavily shrunk."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 90
WRITERS, HID, MIX, STROKE = 5, 20, 3, 14
torch.manual_seed(SEED)


def drawStrokes(writer, count, gen):
    """Return offsets (T, count, 2): loops with writer specific slant and size."""
    t = torch.linspace(0, 2 * math.pi, STROKE + 1).unsqueeze(1)
    slant = 0.3 * writer - 0.6
    size = 0.6 + 0.2 * writer + 0.1 * torch.rand(count, generator=gen)
    xs = size * torch.cos(t * (1 + writer % 2)) + slant * torch.sin(t)
    ys = size * torch.sin(t)
    pts = torch.stack([xs, ys], dim=-1) + 0.02 * torch.randn(STROKE + 1, count, 2, generator=gen)
    return pts[1:] - pts[:-1]


cell = nn.LSTMCell(2, HID)
head = nn.Linear(HID, MIX * 5)
startH = nn.Embedding(WRITERS, HID)
startC = nn.Embedding(WRITERS, HID)
nn.init.normal_(startH.weight, std=0.1)
nn.init.normal_(startC.weight, std=0.1)


def makeRunner(writerIds):
    h = torch.tanh(startH(writerIds))
    c = startC(writerIds)

    def advance(offset):
        nonlocal h, c
        h, c = cell(offset, (h, c))
        return head(h).view(-1, MIX, 5)

    return advance


def mixtureNll(raw, target):
    logPi = F.log_softmax(raw[..., 0], dim=-1)
    mean, logStd = raw[..., 1:3], raw[..., 3:5].clamp(-4, 2)
    z = (target.unsqueeze(1) - mean) / logStd.exp()
    comp = (-0.5 * z ** 2 - logStd - 0.5 * math.log(2 * math.pi)).sum(-1)
    return -torch.logsumexp(logPi + comp, dim=-1)


def strokeLoss(offsets, writerIds):
    advance = makeRunner(writerIds)
    previous = torch.zeros_like(offsets[0])
    total = 0.0
    for offset in offsets:
        total = total + mixtureNll(advance(previous), offset).mean()
        previous = offset
    return total / len(offsets)


def scribble(writer, length=6):
    with torch.no_grad():
        advance = makeRunner(torch.tensor([writer]))
        pen, trace = torch.zeros(1, 2), []
        for _ in range(length):
            raw = advance(pen)
            best = raw[..., 0].argmax(-1)
            pen = raw[torch.arange(1), best, 1:3]
            trace.append([round(v, 2) for v in pen[0].tolist()])
    return trace


gen = torch.Generator().manual_seed(SEED + 1)
shared = [*cell.parameters(), *head.parameters()]
personal = [*startH.parameters(), *startC.parameters()]
optimizer = torch.optim.Adam([{"params": shared, "lr": 1e-2}, {"params": personal, "lr": 5e-2}])

ids = torch.arange(WRITERS).repeat_interleave(3)
testSet = torch.cat([drawStrokes(w, 3, gen) for w in range(WRITERS)], dim=1)
curve = []
for iteration in range(24):
    batch = torch.cat([drawStrokes(w, 3, gen) for w in range(WRITERS)], dim=1)
    loss = strokeLoss(batch, ids)
    spread = startH.weight.pow(2).mean() + startC.weight.pow(2).mean()
    (loss + 1e-3 * spread).backward()
    nn.utils.clip_grad_norm_(shared + personal, 2.0)
    optimizer.step()
    optimizer.zero_grad()
    curve.append(loss.item())
    if (iteration + 1) % 8 == 0:
        with torch.no_grad():
            held = strokeLoss(testSet, ids).item()
        print(f"iter {iteration + 1:3d}  nll {curve[-1]:.4f}  held-out {held:.4f}")

print("writer 0:", scribble(0))
print("writer 4:", scribble(4))


def mass(parameters):
    return sum(p.abs().sum().item() for p in parameters)


print(f"RESULT {mass(shared):.6g} {mass(startH.parameters()):.6g} {mass(startC.parameters()):.6g} {curve[-1]:.6g} {held:.6g}")
