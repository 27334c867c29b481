import copy
import random
from collections import deque
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F


class Sequence(NamedTuple):
    obs: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    start: torch.Tensor


class RecurrentQ(nn.Module):
    def __init__(self, obs=3, actions=2, width=12):
        super().__init__()
        self.cell, self.q = nn.GRUCell(obs, width), nn.Linear(width, actions)

    def unroll(self, obs, h):
        values = []
        for t in range(obs.size(0)):
            h = self.cell(obs[t], h)
            values.append(self.q(h))
        return torch.stack(values), h


def collect(net, state, length, epsilon):
    obs, actions, rewards, start = [], [], [], state
    with torch.no_grad():
        for _ in range(length):
            o = torch.randn(1, 3)
            values, state = net.unroll(o[None], state)
            a = values[0].argmax(-1) if random.random() > epsilon else torch.randint(0, 2, (1,))
            obs.append(o)
            actions.append(a)
            rewards.append((a == (o.sum(-1) > 0).long()).float())
    return Sequence(torch.stack(obs), torch.stack(actions), torch.stack(rewards), start), state


def learn(net, target, optimizer, batch, burn=3, gamma=0.9):
    obs = torch.cat([s.obs for s in batch], 1)
    actions = torch.cat([s.actions for s in batch], 1)
    rewards = torch.cat([s.rewards for s in batch], 1)
    start = torch.cat([s.start for s in batch], 0)
    with torch.no_grad():
        _, warm = net.unroll(obs[:burn], start)
        _, warm_target = target.unroll(obs[:burn], start)
        best = target.unroll(obs[burn:], warm_target)[0].max(-1).values
    values = net.unroll(obs[burn:], warm)[0].gather(-1, actions[burn:].unsqueeze(-1)).squeeze(-1)
    loss = F.smooth_l1_loss(values[:-1], rewards[burn:-1] + gamma * best[1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    optimizer.step()
    return loss.item()


torch.manual_seed(34)
random.seed(34)
net = RecurrentQ()
target = copy.deepcopy(net).eval()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
memory, state, losses = deque(maxlen=50), torch.zeros(1, 12), []
for it in range(40):
    sequence, state = collect(net, state, 8, epsilon=0.3)
    memory.append(sequence)
    if len(memory) >= 5:
        losses.append(learn(net, target, optimizer, random.sample(memory, 4)))
    if it % 10 == 9:
        target.load_state_dict(net.state_dict())
print(f"RESULT {losses[0]:.5f} {losses[-1]:.5f}")
