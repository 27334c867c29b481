import torch
import torch.nn as nn
torch.manual_seed(606)

# streaming one-class detector. The learner is a coroutine: send() it a mini batch, it answers with scores.
# loss = distance to a slowly moving centre + reconstruction + a penalty holding the feature spread up

DECAY = 0.8


def sensor(gen):
    phase = 0.0
    while True:
        phase += 0.4
        base = torch.tensor([phase, phase * 0.5, phase + 1.0, phase * 2.0]).sin()
        x = base + 0.15 * torch.randn(10, 4, generator=gen)
        odd = torch.rand(10, generator=gen) < 0.1
        x[odd] += 2.5
        yield x, odd


def learner(enc, dec, opt):
    centre = torch.zeros(6)
    spread = torch.ones(6)
    report = None
    while True:
        x = yield report
        with torch.no_grad():
            score = (enc(x) - centre).pow(2).mean(1)
        z = enc(x)
        new_centre = DECAY * centre + (1 - DECAY) * z.mean(0)
        new_spread = DECAY * spread + (1 - DECAY) * z.var(0)
        compact = (z - new_centre).abs().mean()
        rec = (dec(z) - x).pow(2).mean()
        alive = torch.relu(1 - new_spread.clamp_min(1e-4).sqrt()).mean()
        loss = rec + 0.1 * compact + alive
        opt.zero_grad()
        loss.backward()
        opt.step()
        centre = new_centre.detach()
        spread = new_spread.detach()
        report = {"score": score, "loss": loss.item(), "rec": rec.item(), "spread": spread.mean().item()}


enc = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 6))
dec = nn.Sequential(nn.Linear(6, 16), nn.ELU(), nn.Linear(16, 4))
opt = torch.optim.Adagrad([
    {"params": enc.parameters(), "lr": 0.05},
    {"params": dec.parameters(), "lr": 0.08},
])

worker = learner(enc, dec, opt)
next(worker)
src = sensor(torch.Generator().manual_seed(607))
hist, gap = [], []
for t, (x, odd) in zip(range(36), src):
    r = worker.send(x)
    hist.append(r["loss"])
    if odd.any() and not odd.all():
        gap.append((r["score"][odd].mean() - r["score"][~odd].mean()).item())
    if t % 9 == 8:
        print("t=%02d loss %.4f rec %.4f spread %.4f gap %.4f"
              % (t, sum(hist[-9:]) / 9, r["rec"], r["spread"], sum(gap[-5:]) / 5))
worker.close()

a = sum(p.abs().sum().item() for p in enc.parameters())
b = sum(p.abs().sum().item() for p in dec.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (a, b, hist[-1], sum(gap)))
