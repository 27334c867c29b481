"""Soft actor-critic for a two-room thermostat, entropy temperature learned."""
import math
from types import SimpleNamespace as NS

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2718)

hp = NS(gamma=0.96, rho=0.97, batch=32, warmup=48, updates=30, target_entropy=-2.0, lr=6e-3, lr_alpha=2e-2)
OBS, ACT = 4, 2


def dense(n_in, n_out, hidden=32):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, n_out))


nets = {
    "pi": dense(OBS, 2 * ACT),
    "q1": dense(OBS + ACT, 1),
    "q2": dense(OBS + ACT, 1),
}
targets = {k: dense(OBS + ACT, 1) for k in ("q1", "q2")}
for k, net in targets.items():
    net.load_state_dict(nets[k].state_dict())
    net.requires_grad_(False)
log_alpha = torch.tensor(math.log(0.2), requires_grad=True)

optims = {
    "pi": torch.optim.Adam(nets["pi"].parameters(), lr=hp.lr),
    "q": torch.optim.Adam([*nets["q1"].parameters(), *nets["q2"].parameters()], lr=hp.lr),
    "alpha": torch.optim.Adam([log_alpha], lr=hp.lr_alpha),
}


def sample_action(obs):
    mu, log_std = nets["pi"](obs).chunk(2, dim=-1)
    std = log_std.clamp(-5, 1).exp()
    u = mu + std * torch.randn_like(mu)
    a = torch.tanh(u)
    logp = (-0.5 * ((u - mu) / std) ** 2 - std.log() - 0.5 * math.log(2 * math.pi)).sum(-1)
    logp = logp - (2 * (math.log(2) - u - F.softplus(-2 * u))).sum(-1)
    return a, logp


def q_of(name, obs, act, pool=nets):
    return pool[name](torch.cat([obs, act], -1)).squeeze(-1)


def house():
    """generator: receives heater commands, yields (obs, comfort)"""
    temp = torch.tensor([15.0, 18.0])
    hour = 0
    while True:
        outside = 8 + 5 * math.sin(2 * math.pi * hour / 24)
        obs = torch.cat([(temp - 20) / 5, torch.tensor([(outside - 8) / 5, math.cos(2 * math.pi * hour / 24)])])
        comfort = -((temp - 20) / 5).pow(2).sum().item()
        heat = yield obs, comfort
        temp = temp + 0.1 * (outside - temp) + 0.05 * (temp.flip(0) - temp) + 1.5 * (heat + 1)
        hour = (hour + 1) % 24


memory = NS(o=[], a=[], r=[], o2=[])
env = house()
obs, _ = next(env)
log = []
while len(log) < hp.updates:
    with torch.no_grad():
        act = sample_action(obs)[0] if len(memory.o) >= hp.warmup else torch.rand(ACT) * 2 - 1
    obs2, comfort = env.send(act)
    energy = 0.1 * (act + 1).sum().item()
    memory.o.append(obs), memory.a.append(act), memory.r.append(comfort - energy), memory.o2.append(obs2)
    obs = obs2
    if len(memory.o) < hp.warmup or len(memory.o) % 2:
        continue

    idx = torch.randint(0, len(memory.o), (hp.batch,)).tolist()
    o, a, o2 = (torch.stack([col[i] for i in idx]) for col in (memory.o, memory.a, memory.o2))
    r = torch.tensor([memory.r[i] for i in idx])
    alpha = log_alpha.exp().item()

    with torch.no_grad():
        a2, logp2 = sample_action(o2)
        soft_v = torch.min(q_of("q1", o2, a2, targets), q_of("q2", o2, a2, targets)) - alpha * logp2
        y = r + hp.gamma * soft_v
    loss_q = sum(F.mse_loss(q_of(k, o, a), y) for k in ("q1", "q2"))
    optims["q"].zero_grad()
    loss_q.backward()
    optims["q"].step()

    for k in ("q1", "q2"):
        nets[k].requires_grad_(False)
    new_a, logp = sample_action(o)
    loss_pi = (alpha * logp - torch.min(q_of("q1", o, new_a), q_of("q2", o, new_a))).mean()
    optims["pi"].zero_grad()
    loss_pi.backward()
    optims["pi"].step()
    for k in ("q1", "q2"):
        nets[k].requires_grad_(True)

    loss_alpha = -(log_alpha * (logp.detach() + hp.target_entropy)).mean()
    optims["alpha"].zero_grad()
    loss_alpha.backward()
    optims["alpha"].step()

    with torch.no_grad():
        for k, t in targets.items():
            for w, wt in zip(nets[k].parameters(), t.parameters()):
                wt.copy_(hp.rho * wt + (1 - hp.rho) * w)
    log.append((loss_q.item(), loss_pi.item(), alpha))
    if len(log) % 10 == 0:
        print("update %2d  q %.4f  pi %+.4f  alpha %.4f  last comfort %.3f" % (len(log), *log[-1], comfort))

w = {k: sum(p.abs().sum().item() for p in m.parameters()) for k, m in nets.items()}
print("RESULT %.6g %.6g %.6g %.6g %.6g %.6g" % (w["pi"], w["q1"], w["q2"], log_alpha.item(), log[-1][0], log[-1][1]))
