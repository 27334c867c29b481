from typing import NamedTuple

import torch
from torch.distributions import Categorical


class Rollout(NamedTuple):
    columns: tuple            # context, actions, old log-probs, advantages, returns
    mean_score: float
    mean_kl: float

    def minibatches(self, size, generator):
        perm = torch.randperm(len(self.columns[0]), generator=generator)
        for rows in perm.split(size):
            yield [c[rows] for c in self.columns]


def gae(rewards, values, gamma, lam):
    adv = torch.zeros_like(rewards)
    running = upcoming = torch.zeros(rewards.shape[0])
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * upcoming - values[:, t]
        upcoming = values[:, t]
        running = delta + gamma * lam * running
        adv[:, t] = running
    return adv


@torch.no_grad()
def collect(policy, reference, reward_model, batch, length, kl_coef, gamma=1.0, lam=0.95):
    token = torch.zeros(batch, 1, dtype=torch.long)
    state, ref_state = None, None
    records = []
    for _ in range(length):
        logits, value, state = policy(token, state)
        ref_logits, _, ref_state = reference(token, ref_state)
        dist = Categorical(logits=logits[:, -1])
        action = dist.sample()
        ref_lp = Categorical(logits=ref_logits[:, -1]).log_prob(action)
        records.append((token[:, 0], action, dist.log_prob(action), ref_lp, value[:, -1]))
        token = action[:, None]
    ctx, act, lp, ref, val = (torch.stack(r, dim=1) for r in zip(*records))
    score = reward_model(act)
    rewards = kl_coef * (ref - lp)
    rewards[:, -1] += score
    adv = gae(rewards, val, gamma, lam)
    normalised = (adv - adv.mean()) / (adv.std() + 1e-6)
    return Rollout((ctx, act, lp, normalised, adv + val), score.mean().item(), (lp - ref).sum(1).mean().item())
