"""hierarchical RNN for a bursty spike-count signal.

The fast layer ticks every sample, truncated at K_FAST samples; the slow layer
ticks once per K_FAST samples, truncated at K_SLOW of its own ticks.
"""
import torch
from torch import nn

torch.manual_seed(515)
g = torch.Generator().manual_seed(516)

K_FAST, K_SLOW = 6, 4
B, N_FAST, N_SLOW = 8, 16, 12
WINDOW = K_FAST * K_SLOW


def make_signal(n):
    regime = torch.zeros(B)
    rate, rows = torch.ones(B), []
    for i in range(n + 1):
        if i % 18 == 0:
            regime = torch.randint(0, 3, (B,), generator=g).float()
        rate = 0.8 * rate + 0.2 * (0.5 + 1.5 * regime)
        rows.append(torch.poisson(rate, generator=g))
    return torch.stack(rows)


class Fast(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(1 + N_SLOW, N_FAST)

    def forward(self, count, slow_ctx, h):
        return self.cell(torch.cat([torch.log1p(count).unsqueeze(-1), slow_ctx], -1), h)


fast, slow = Fast(), nn.GRUCell(N_FAST, N_SLOW)
to_rate = nn.Linear(N_FAST + N_SLOW, 1)
modules = nn.ModuleDict({"fast": fast, "slow": slow, "to_rate": to_rate})
opt = torch.optim.Adam(modules.parameters(), lr=1e-2)
poisson = nn.PoissonNLLLoss(log_input=True)


def run_window(sig, h, s):
    """sig has WINDOW + 1 samples; returns mean loss and both states at the end"""
    total = 0.0
    for tick in range(K_SLOW):
        h = h.detach()
        for j in range(K_FAST):
            i = tick * K_FAST + j
            h = fast(sig[i], s, h)
            log_rate = to_rate(torch.cat([h, s], -1)).squeeze(-1)
            total = total + poisson(log_rate, sig[i + 1])
        s = slow(h, s)
    return total / WINDOW, h, s


sig = make_signal(WINDOW * 6)
val = make_signal(WINDOW * 2)
log = []
for sweep in range(3):
    h, s = torch.zeros(B, N_FAST), torch.zeros(B, N_SLOW)
    for w in range(6):
        s = s.detach()
        loss, h, s = run_window(sig[w * WINDOW:(w + 1) * WINDOW + 1], h, s)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(loss.item())
    with torch.no_grad():
        hv, sv, v = torch.zeros(B, N_FAST), torch.zeros(B, N_SLOW), 0.0
        for w in range(2):
            l, hv, sv = run_window(val[w * WINDOW:(w + 1) * WINDOW + 1], hv, sv)
            v += l.item() / 2
    print("sweep %d  nll %.4f  val %.4f" % (sweep, sum(log[-6:]) / 6, v))

parts = [sum(p.abs().sum().item() for p in m.parameters()) for m in modules.values()]
print("RESULT", " ".join("%.6g" % q for q in parts + [log[-1], v]))
