"""
Echo state network on Mackey-Glass.

stage 1: intrinsic plasticity, tune gain/bias of the reservoir units so that
         the activity looks gaussian (SGD, short stretches)
stage 2: collect reservoir activity
stage 3: readout by L-BFGS
"""
import numpy as np
import torch

rng = np.random.default_rng(8)
torch.manual_seed(8)
torch.set_default_dtype(torch.float64)

N = 60
SPECTRAL_RADIUS = 0.9
LEAK = 0.6


def mackey_glass(n, tau=17, seed=0):
    r = np.random.default_rng(seed)
    hist = list(1.2 + 0.1 * r.standard_normal(tau + 1))
    for _ in range(n + 100):
        xt, xd = hist[-1], hist[-tau - 1]
        hist.append(xt + 0.2 * xd / (1 + xd ** 10) - 0.1 * xt)
    s = np.array(hist[-n:])
    return torch.from_numpy(s - s.mean())


W = rng.standard_normal((N, N)) * (rng.random((N, N)) < 0.15)
W *= SPECTRAL_RADIUS / np.abs(np.linalg.eigvals(W)).max()
W = torch.from_numpy(W)
W_in = torch.from_numpy(rng.uniform(-1, 1, size=N))

gain = torch.ones(N, requires_grad=True)
bias = torch.zeros(N, requires_grad=True)


def tick(r, u):
    return (1 - LEAK) * r + LEAK * torch.tanh(gain * (W @ r + W_in * u) + bias)


def gaussian_kl(acts, mu=0.0, sigma=0.25):
    m, v = acts.mean(0), acts.var(0) + 1e-6
    return (0.5 * (v / sigma ** 2 + (m - mu) ** 2 / sigma ** 2 - 1 - torch.log(v / sigma ** 2))).mean()


u = mackey_glass(280)
train_u, test_u = u[:200], u[200:]

ip = torch.optim.SGD([gain, bias], lr=0.4)
r = torch.zeros(N)
kls = []
for stretch in train_u.split(40) * 3:
    acts = []
    for v in stretch:
        r = tick(r, v)
        acts.append(r)
    kl = gaussian_kl(torch.stack(acts))
    ip.zero_grad()
    kl.backward()
    ip.step()
    r = r.detach()
    kls.append(kl.item())
print("intrinsic plasticity  KL", ["%.4f" % np.mean(kls[k:k + 5]) for k in (0, 5, 10)])


@torch.no_grad()
def harvest(signal, r=None):
    r = torch.zeros(N) if r is None else r
    rows = []
    for v in signal[:-1]:
        r = tick(r, v)
        rows.append(torch.cat([r, v.view(1), torch.ones(1)]))
    return torch.stack(rows), signal[1:], r


X, Y, r_end = harvest(train_u)
X, Y = X[30:], Y[30:]
w_out = torch.zeros(N + 2, requires_grad=True)
lbfgs = torch.optim.LBFGS([w_out], lr=1.0, max_iter=6, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    obj = (X @ w_out - Y).pow(2).mean() + 1e-6 * w_out.pow(2).sum()
    obj.backward()
    return obj


for k in range(8):
    val = lbfgs.step(closure)
    if k % 2 == 0:
        print("  lbfgs %d  objective %.3e" % (k, val.item()))

Xt, Yt, _ = harvest(test_u, r_end)
with torch.no_grad():
    nrmse = ((Xt @ w_out - Yt).pow(2).mean() / Yt.var()).sqrt().item()
    free, r, v = [], r_end.clone(), train_u[-1]
    for _ in range(15):
        r = tick(r, v)
        v = torch.cat([r, v.view(1), torch.ones(1)]) @ w_out
        free.append(v.item())
print("one-step NRMSE %.5f   free run mse %.5f" % (nrmse, np.mean((np.array(free) - test_u[:15].numpy()) ** 2)))
print("RESULT %.6g %.6g %.6g %.6g" % (
    gain.abs().sum().item(), bias.abs().sum().item(), w_out.abs().sum().item(), nrmse))
