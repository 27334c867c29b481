import random
from collections import namedtuple
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from nets import SquashedPolicy, Twin

Transition = namedtuple("Transition", "obs act rew nxt")
HP = SimpleNamespace(gamma=0.95, tau=0.02, lr=3e-3, batch=32, warmup=60, steps=160, target_entropy=-1.0)


class Parking:
    """Drive a point on a line to the origin and stop there."""

    def reset(self):
        self.x, self.v = random.uniform(-1, 1), 0.0
        return self.obs

    @property
    def obs(self):
        return torch.tensor([self.x, self.v])

    def step(self, a):
        self.v = 0.9 * self.v + 0.1 * a
        self.x += self.v
        return self.obs, -(self.x ** 2 + 0.1 * a ** 2)


class SAC:
    def __init__(self):
        self.pi = SquashedPolicy(2, 1)
        self.q = Twin(2, 1)
        self.q_target = self.q.frozen_copy()
        self.log_alpha = torch.tensor(-1.0, requires_grad=True)
        self.optim = {
            "q": torch.optim.Adam(self.q.parameters(), HP.lr),
            "pi": torch.optim.Adam(self.pi.parameters(), HP.lr),
            "alpha": torch.optim.Adam([self.log_alpha], HP.lr),
        }

    @property
    def alpha(self):
        return self.log_alpha.exp()

    def _descend(self, which, loss):
        opt = self.optim[which]
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    def update(self, b):
        with torch.no_grad():
            a2, logp2 = self.pi(b.nxt)
            target = b.rew + HP.gamma * (torch.min(*self.q_target(b.nxt, a2)) - self.alpha * logp2)
        q_loss = sum(F.mse_loss(q, target) for q in self.q(b.obs, b.act))
        out = {"q": self._descend("q", q_loss)}

        a, logp = self.pi(b.obs)
        pi_loss = (self.alpha.detach() * logp - torch.min(*self.q(b.obs, a))).mean()
        out["pi"] = self._descend("pi", pi_loss)

        entropy_gap = logp + HP.target_entropy
        out["alpha"] = self._descend("alpha", -(self.log_alpha * entropy_gap).mean())

        self.q_target.follow(self.q, HP.tau)
        return out


def main():
    random.seed(3), torch.manual_seed(3)
    env, agent, memory, logs = Parking(), SAC(), [], []
    obs = env.reset()
    for t in range(HP.steps):
        if t % 20 == 0:
            obs = env.reset()
        with torch.no_grad():
            act = agent.pi(obs)[0] if t >= HP.warmup else torch.empty(1).uniform_(-1, 1)
        nxt, rew = env.step(act.item())
        memory.append(Transition(obs, act, torch.tensor(rew), nxt))
        obs = nxt
        if t >= HP.warmup:
            logs.append(agent.update(Transition(*map(torch.stack, zip(*random.sample(memory, HP.batch))))))
    tail = logs[-20:]
    print("alpha", agent.alpha.item())
    print("RESULT", *(f"{sum(l[k] for l in tail) / len(tail):.6g}" for k in ("q", "pi", "alpha")))


main()
