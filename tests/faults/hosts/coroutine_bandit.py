"""Contextual bandit where player and world are coroutines that talk with send()."""
import functools
import random

import torch
from torch import nn
from torch.distributions import Categorical


def primed(fn):
    @functools.wraps(fn)
    def start(*a, **k):
        co = fn(*a, **k)
        next(co)
        return co
    return start


@primed
def averager(decay=0.9):
    """send(x) -> exponential mean of everything sent so far"""
    mean = None
    x = yield
    while True:
        mean = x if mean is None else decay * mean + (1 - decay) * x
        x = yield mean


@primed
def world(n_arms, dim, rng):
    """send(arm) -> reward, then send(None) -> next context"""
    secret = torch.randn(n_arms, dim, generator=rng)
    context = None
    arm = yield
    while True:
        context = torch.randn(dim, generator=rng)
        arm = yield context
        payoff = torch.sigmoid(2 * secret[arm] @ context).item()
        yield float(torch.rand(1, generator=rng).item() < payoff)


@primed
def player(pi, critic, opts, horizon, replay):
    """send(context) -> arm, send(reward) -> summary of an update or None"""
    pi_opt, critic_opt = opts
    baseline = averager()
    report = None
    while True:
        logps, advantages, entropies = [], [], []
        for _ in range(horizon):
            context = yield report
            dist = Categorical(logits=pi(context))
            arm = dist.sample()
            reward = yield arm.item()
            with torch.no_grad():
                guess = critic(context).item()
            logps.append(dist.log_prob(arm))
            entropies.append(dist.entropy())
            advantages.append(reward - guess)
            mean_reward = baseline.send(reward)
            replay.append((context, reward))
            report = None

        gain = (torch.stack(logps) * torch.tensor(advantages)).mean()
        pi_loss = -gain - 0.01 * torch.stack(entropies).mean()
        pi_opt.zero_grad()
        pi_loss.backward()
        pi_opt.step()

        cs, rs = zip(*random.sample(replay, min(16, len(replay))))
        critic_loss = (critic(torch.stack(cs)).squeeze(-1) - torch.tensor(rs)).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        report = dict(pi=pi_loss.item(), critic=critic_loss.item(), reward=mean_reward)


def main(rounds=160, horizon=8, n_arms=3, dim=4):
    torch.manual_seed(99)
    random.seed(99)
    rng = torch.Generator().manual_seed(100)
    pi = nn.Linear(dim, n_arms)
    critic = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, 1))
    opts = torch.optim.Adam(pi.parameters(), lr=5e-2), torch.optim.Adam(critic.parameters(), lr=2e-2)
    env, hero = world(n_arms, dim, rng), player(pi, critic, opts, horizon, replay=[])

    total, reports = 0.0, []
    context = env.send(None)
    for t in range(rounds):
        arm = hero.send(context)
        reward = env.send(arm)
        report = hero.send(reward)
        if report is not None:
            reports.append(report)
            if len(reports) % 8 == 0:
                print(len(reports), " ".join(f"{k} {v:+.4f}" for k, v in report.items()))
        total += reward
        context = env.send(None)
    env.close(), hero.close()

    size = lambda net: sum(p.detach().abs().sum().item() for p in net.parameters())
    last = reports[-1]
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (size(pi), size(critic), last["pi"], last["critic"], total / rounds))


if __name__ == "__main__":
    main()
