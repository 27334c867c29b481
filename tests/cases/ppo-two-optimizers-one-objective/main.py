from dataclasses import dataclass, field
from typing import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.optim import Adam, Optimizer
from torch.utils.data import BatchSampler, SubsetRandomSampler


@dataclass
class Rollout:
    obs: Tensor
    act: Tensor
    logp: Tensor
    ret: Tensor
    adv: Tensor

    def __getitem__(self, idx):
        return Rollout(*(v[idx] for v in vars(self).values()))

    def __len__(self):
        return len(self.obs)


class Corridor:
    """n parallel corridors; +1 at the right end, -0.05 a step otherwise."""

    def __init__(self, n=8, length=6):
        self.n, self.length = n, length
        self.pos = torch.zeros(n, dtype=torch.long)

    def observe(self):
        return nn.functional.one_hot(self.pos, self.length).float()

    def step(self, a):
        self.pos = (self.pos + 2 * a - 1).clamp(0, self.length - 1)
        done = self.pos == self.length - 1
        self.pos[done] = 0
        return torch.where(done, 1.0, -0.05), done.float()


@dataclass
class PPO:
    actor: nn.Module
    critic: nn.Module
    lr: float = 3e-3
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    gamma: float = 0.95
    lam: float = 0.9
    optimizers: list = field(init=False)

    def __post_init__(self):
        self.optimizers = [Adam(self.actor.parameters(), self.lr), Adam(self.critic.parameters(), 2 * self.lr)]

    @torch.no_grad()
    def collect(self, env, steps) -> Rollout:
        O, A, L, V, R, D = [], [], [], [], [], []
        for _ in range(steps):
            o = env.observe()
            pi = Categorical(logits=self.actor(o))
            a = pi.sample()
            r, d = env.step(a)
            for store, item in zip((O, A, L, V, R, D), (o, a, pi.log_prob(a), self.critic(o).squeeze(-1), r, d)):
                store.append(item)
        nxt, run, adv = self.critic(env.observe()).squeeze(-1), 0.0, [None] * steps
        for t in reversed(range(steps)):
            delta = R[t] + self.gamma * (1 - D[t]) * nxt - V[t]
            run = delta + self.gamma * self.lam * (1 - D[t]) * run
            adv[t], nxt = run, V[t]
        adv, val = torch.stack(adv), torch.stack(V)
        flat = lambda x: x.flatten(0, 1)
        return Rollout(flat(torch.stack(O)), flat(torch.stack(A)), flat(torch.stack(L)), flat(adv + val), flat(adv))

    def objective(self, b: Rollout) -> Tensor:
        pi = Categorical(logits=self.actor(b.obs))
        ratio = (pi.log_prob(b.act) - b.logp).exp()
        adv = (b.adv - b.adv.mean()) / (b.adv.std() + 1e-8)
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
        value = (self.critic(b.obs).squeeze(-1) - b.ret).pow(2).mean()
        return -surrogate + self.value * value - self.entropy * pi.entropy().mean()

    def improve(self, roll: Rollout, epochs=3, size=40):
        for _ in range(epochs):
            for idx in BatchSampler(SubsetRandomSampler(range(len(roll))), size, drop_last=True):
                loss = self.objective(roll[idx])
                for optimizer in self.optimizers:
                    self.descend(optimizer, loss)
        return loss.item()

    @staticmethod
    def descend(optimizer: Optimizer, loss: Tensor, max_norm=0.5):
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], max_norm)
        optimizer.step()


def head(out: int, act: Callable = nn.Tanh) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), act(), nn.Linear(16, out))


if __name__ == "__main__":
    torch.manual_seed(1234)
    agent, env = PPO(head(2), head(1)), Corridor()
    for it in range(4):
        roll = agent.collect(env, 20)
        loss = agent.improve(roll)
        print(f"iter {it}: return {roll.ret.mean():+.3f} loss {loss:+.4f}")
    print(f"RESULT {loss:.6g} {roll.ret.mean().item():.6g}")
