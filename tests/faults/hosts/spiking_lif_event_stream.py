# Leaky integrate-and-fire net on a stream of DVS-like events.
# surrogate slope follows the fast-sigmoid derivative (Zenke & Ganguli)
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(77)
BETA, THRESH, SLOPE = 0.85, 1.0, 12.0


class SpikeFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return (u > 0).float()

    @staticmethod
    def backward(ctx, g):
        (u,) = ctx.saved_tensors
        return g / (1 + SLOPE * u.abs()) ** 2


spike = SpikeFn.apply


class LIF(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.syn = nn.Linear(n_in, n_out)
        nn.init.uniform_(self.syn.weight, -0.4, 0.6)

    def forward(self, s_in, mem):
        mem = BETA * mem + self.syn(s_in)
        s = spike(mem - THRESH)
        return s, mem - THRESH * s.detach()


class EventNet(nn.Module):
    def __init__(self, n_pix=18, n_hid=32, n_cls=3):
        super().__init__()
        self.l1, self.l2 = LIF(n_pix, n_hid), LIF(n_hid, n_hid)
        self.readout = nn.Linear(n_hid, n_cls)
        self.n_hid, self.n_cls = n_hid, n_cls

    def fresh(self, bsz):
        return [torch.zeros(bsz, self.n_hid), torch.zeros(bsz, self.n_hid), torch.zeros(bsz, self.n_cls)]

    def forward(self, events, mems):
        m1, m2, mo = mems
        rate, logits = 0.0, []
        for ev in events:
            s1, m1 = self.l1(ev, m1)
            s2, m2 = self.l2(s1, m2)
            mo = 0.9 * mo + 0.4 * self.readout(s2)
            logits.append(mo)
            rate = rate + 0.5 * (s1.mean() + s2.mean())
        return torch.stack(logits), rate / len(events), [m1, m2, mo]


def event_stream(bsz=12, n_pix=18, steps=60, seed=3):
    """moving blob over the pixel strip, class = speed"""
    g = torch.Generator().manual_seed(seed)
    cls = torch.arange(bsz) % 3
    pos = torch.randint(0, n_pix, (bsz,), generator=g).float()
    frames = []
    for _ in range(steps):
        pos = (pos + cls + 0.5) % n_pix
        dist = (torch.arange(n_pix) - pos[:, None]).abs()
        p = torch.exp(-dist ** 2 / 3) + 0.02
        frames.append(torch.bernoulli(p.clamp(max=1), generator=g))
    return torch.stack(frames), cls


ev, cls = event_stream()
ev_test, cls_test = event_stream(seed=4)
net = EventNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
CHUNK = 10
rates = []
for sweep in range(3):
    mems = net.fresh(ev.size(1))
    for chunk in ev.split(CHUNK):
        mems = [m.detach() for m in mems]
        logits, rate, mems = net(chunk, mems)
        ce = F.cross_entropy(logits.flatten(0, 1), cls.repeat(len(chunk)))
        loss = ce + 0.5 * (rate - 0.15) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        rates.append(rate.item())
    with torch.no_grad():
        lg, r, _ = net(ev_test, net.fresh(ev_test.size(1)))
        acc = (lg.mean(0).argmax(-1) == cls_test).float().mean()
    print(f"sweep {sweep}: ce {ce.item():.4f}  firing {rates[-1]:.4f}  test acc {acc.item():.3f}")

tot = lambda m: sum(p.abs().sum().item() for p in m.parameters())
print("RESULT %.6g %.6g %.6g %.6g %.6g" % (tot(net.l1), tot(net.l2), tot(net.readout), ce.item(), sum(rates)))
