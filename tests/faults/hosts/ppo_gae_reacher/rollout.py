from dataclasses import dataclass, fields

import torch


@dataclass
class Rollout:
    obs: torch.Tensor
    act: torch.Tensor
    logp: torch.Tensor
    ret: torch.Tensor
    adv: torch.Tensor

    def __len__(self):
        return self.obs.shape[0]

    def minibatches(self, size):
        order = torch.randperm(len(self))
        for idx in order.split(size):
            yield Rollout(*(getattr(self, f.name)[idx] for f in fields(self)))


def gae(rewards, values, last_value, gamma, lam):
    adv, running = torch.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        nxt = last_value if t == len(rewards) - 1 else values[t + 1]
        delta = rewards[t] + gamma * nxt - values[t]
        running = delta + gamma * lam * running
        adv[t] = running
    return adv


@torch.no_grad()
def collect(env, actor, critic, gamma=0.95, lam=0.9):
    obs, done = env.reset(), False
    O, A, P, R, V = [], [], [], [], []
    while not done:
        dist = actor(obs)
        act = dist.sample()
        O.append(obs), A.append(act), P.append(dist.log_prob(act).sum(-1)), V.append(critic(obs))
        obs, rew, done = env.step(act)
        R.append(rew)
    R, V = torch.stack(R), torch.stack(V)
    adv = gae(R, V, torch.zeros(env.n), gamma, lam)
    flat = lambda z: z.flatten(0, 1)
    return Rollout(flat(torch.stack(O)), flat(torch.stack(A)), flat(torch.stack(P)),
                   flat(adv + V), flat((adv - adv.mean()) / (adv.std() + 1e-8))), R.sum(0).mean().item()
