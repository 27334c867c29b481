"""Implicit Q-learning on a logged dataset. Everything is pure functions over lists of weights."""
from functools import partial

import torch

key = torch.Generator().manual_seed(77)
torch.manual_seed(77)


# ---------------------------------------------------------------- nets
def init(sizes):
    out = []
    for m, n in zip(sizes, sizes[1:]):
        w = torch.randn(m, n, generator=key) * (2 / m) ** 0.5
        out += [w.requires_grad_(), torch.zeros(n).requires_grad_()]
    return out


def apply(params, x):
    *hidden, (w, b) = zip(params[::2], params[1::2])
    for wh, bh in hidden:
        x = torch.relu(x @ wh + bh)
    return x @ w + b


def q_fn(params, s, a):
    return apply(params, torch.cat([s, a], -1))[..., 0]


v_fn = lambda params, s: apply(params, s)[..., 0]
pi_fn = lambda params, s: torch.tanh(apply(params, s))


# ---------------------------------------------------------------- logged data
def behaviour(s):
    """mediocre controller: half of the time it pushes the wrong way"""
    push = -s.sum(-1, keepdim=True)
    sign = torch.where(torch.rand(len(s), 1, generator=key) < 0.5, 1.0, -0.4)
    return (sign * push + 0.4 * torch.randn(len(s), 1, generator=key)).clamp(-1, 1)


def dynamics(s, a):
    pos, vel = s.split(1, -1)
    vel = 0.9 * vel + 0.3 * a
    pos = (pos + 0.3 * vel).clamp(-2, 2)
    nxt = torch.cat([pos, vel], -1)
    return nxt, -(pos ** 2 + 0.1 * a ** 2)[..., 0]


def make_dataset(n_traj=30, horizon=12):
    s, cols = torch.randn(n_traj, 2, generator=key), []
    for _ in range(horizon):
        a = behaviour(s)
        s2, r = dynamics(s, a)
        cols.append((s, a, r, s2))
        s = s2
    return tuple(torch.cat(c) for c in zip(*cols))


# ---------------------------------------------------------------- losses
def expectile(diff, tau):
    return (torch.where(diff > 0, tau, 1 - tau) * diff ** 2).mean()


def value_loss(P, T, batch, tau):
    s, a, _, _ = batch
    with torch.no_grad():
        q = torch.minimum(q_fn(T["q1"], s, a), q_fn(T["q2"], s, a))
    return expectile(q - v_fn(P["v"], s), tau)


def critic_loss(P, T, batch, gamma):
    s, a, r, s2 = batch
    with torch.no_grad():
        y = r + gamma * v_fn(P["v"], s2)
    return sum(((q_fn(P[k], s, a) - y) ** 2).mean() for k in ("q1", "q2"))


def actor_loss(P, T, batch, beta):
    s, a, _, _ = batch
    with torch.no_grad():
        adv = torch.minimum(q_fn(T["q1"], s, a), q_fn(T["q2"], s, a)) - v_fn(P["v"], s)
        weight = (beta * adv).exp().clamp(max=20.0)
    return (weight * (pi_fn(P["pi"], s) - a).pow(2).sum(-1)).mean()


P = {"v": init([2, 24, 1]), "q1": init([3, 24, 1]), "q2": init([3, 24, 1]), "pi": init([2, 24, 1])}
T = {k: [w.detach().clone() for w in P[k]] for k in ("q1", "q2")}

stages = [
    ("v", partial(value_loss, tau=0.8), torch.optim.Adam(P["v"], lr=2e-2)),
    ("q", partial(critic_loss, gamma=0.85), torch.optim.Adam(P["q1"] + P["q2"], lr=3e-2)),
    ("pi", partial(actor_loss, beta=4.0), torch.optim.Adam(P["pi"], lr=1e-2)),
]

data = make_dataset()
for it in range(1, 31):
    idx = torch.randint(0, len(data[0]), (64,), generator=key)
    batch = tuple(c[idx] for c in data)
    info = {}
    for name, loss_fn, opt in stages:
        loss = loss_fn(P, T, batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        info[name] = loss.item()
    for k in T:
        T[k] = [0.95 * t + 0.05 * w.detach() for t, w in zip(T[k], P[k])]
    if it % 10 == 0:
        print(it, {k: round(x, 4) for k, x in info.items()})

with torch.no_grad():
    s, ret = torch.tensor([[1.0, 0.0], [-1.5, 0.5], [0.3, -1.0]]), 0.0
    for _ in range(12):
        s, r = dynamics(s, pi_fn(P["pi"], s))
        ret += r.mean().item()
print(f"rollout return {ret:.4f}")
print("RESULT", *(f"{sum(w.abs().sum().item() for w in P[k]):.6g}" for k in P), *(f"{x:.6g}" for x in info.values()), f"{ret:.6g}")
