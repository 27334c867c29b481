from dataclasses import dataclass, field

import torch
from torch import nn
from torch.distributions import Categorical


@dataclass
class Rollout:
    obs: list = field(default_factory=list)
    act: list = field(default_factory=list)
    logp: list = field(default_factory=list)
    value: list = field(default_factory=list)
    reward: list = field(default_factory=list)
    start: torch.Tensor = None


class RecurrentActorCritic(nn.Module):
    def __init__(self, obs=3, hidden=16, actions=2):
        super().__init__()
        self.cell = nn.GRUCell(obs, hidden)
        self.pi, self.v = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, obs, h):
        h = self.cell(obs, h)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1), h


class Blink:
    """The signal is shown once; the right answer is to repeat it for ever."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.key, self.t = torch.randint(2, (self.n,)), 0
        return self.look()

    def look(self):
        show = self.key * 2.0 - 1 if self.t == 0 else torch.zeros(self.n)
        return torch.stack([show, torch.full((self.n,), self.t / 8), torch.ones(self.n)], 1)

    def step(self, act):
        self.t += 1
        return self.look(), (act == self.key).float()


def collect(net, env, steps=8):
    roll, obs = Rollout(), env.reset()
    h = roll.start = torch.zeros(env.n, 16)
    with torch.no_grad():
        for _ in range(steps):
            dist, value, h = net(obs, h)
            act = dist.sample()
            roll.obs.append(obs), roll.act.append(act), roll.logp.append(dist.log_prob(act)), roll.value.append(value)
            obs, reward = env.step(act)
            roll.reward.append(reward)
    return roll


def returns(roll, gamma=0.9):
    out, g = [], torch.zeros_like(roll.reward[0])
    for r in reversed(roll.reward):
        g = r + gamma * g
        out.append(g)
    return torch.stack(out[::-1])


def update(net, optimizer, roll, epochs=3, clip=0.2):
    ret = returns(roll)
    adv = ret - torch.stack(roll.value)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(epochs):
        h, policy_loss, value_loss, entropy = roll.start, 0.0, 0.0, 0.0
        for t, (obs, act, old) in enumerate(zip(roll.obs, roll.act, roll.logp)):
            dist, value, h = net(obs, h)
            ratio = (dist.log_prob(act) - old).exp()
            policy_loss -= torch.min(ratio * adv[t], ratio.clamp(1 - clip, 1 + clip) * adv[t]).mean()
            value_loss += (value - ret[t]).square().mean()
            entropy += dist.entropy().mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    return loss.item()


torch.manual_seed(40)
net, env = RecurrentActorCritic(), Blink(16)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
log = []
for _ in range(12):
    roll = collect(net, env)
    log.append((update(net, optimizer, roll), torch.stack(roll.reward).mean().item()))
print("RESULT", *(f"{v:.6g}" for v in log[-1]))
