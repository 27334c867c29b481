import copy
import itertools
import random

import torch
from torch import nn

random.seed(42)
torch.manual_seed(42)


class HoverDrone:
    """altitude, vertical speed, tilt; two rotors"""
    stateSize, actionSize = 3, 2

    def reset(self):
        self.state = [random.uniform(-1, 1), 0.0, random.uniform(-0.3, 0.3)]
        self.steps = 0
        return torch.tensor(self.state)

    def step(self, action):
        left, right = action.clamp(-1, 1).tolist()
        z, vz, tilt = self.state
        tilt = max(-1.0, min(1.0, 0.9 * tilt + 0.2 * (left - right)))
        vz = 0.9 * vz + 0.15 * (left + right) * (1 - abs(tilt))
        z = max(-2.0, min(2.0, z + 0.4 * vz))
        self.state = [z, vz, tilt]
        self.steps += 1
        reward = 1.0 - z * z - 0.5 * tilt * tilt - 0.05 * vz * vz
        return torch.tensor(self.state), reward, self.steps >= 20


class Actor(nn.Module):
    def __init__(self, nState, nAction):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(nState, 32), nn.ReLU(), nn.Linear(32, nAction), nn.Tanh())

    def forward(self, state):
        return self.body(state)


class TwinCritic(nn.Module):
    def __init__(self, nState, nAction):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(nState + nAction, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q2 = nn.Sequential(nn.Linear(nState + nAction, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, state, action):
        sa = torch.cat([state, action], dim=-1)
        return self.q1(sa).squeeze(-1), self.q2(sa).squeeze(-1)

    def first(self, state, action):
        return self.q1(torch.cat([state, action], dim=-1)).squeeze(-1)


class TD3Agent:
    def __init__(self, nState, nAction, discount=0.95, tau=0.02, policyNoise=0.2, noiseClip=0.4, policyDelay=2):
        self.actor, self.critic = Actor(nState, nAction), TwinCritic(nState, nAction)
        self.actorTarget, self.criticTarget = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actorOptimizer = torch.optim.Adam(self.actor.parameters(), lr=5e-3)
        self.criticOptimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.discount, self.tau, self.policyDelay = discount, tau, policyDelay
        self.policyNoise, self.noiseClip = policyNoise, noiseClip
        self.updates = 0
        self.actorLosses, self.criticLosses = [], []

    @torch.no_grad()
    def act(self, state, exploration=0.0):
        action = self.actor(state)
        return (action + exploration * torch.randn_like(action)).clamp(-1, 1)

    def computeTarget(self, reward, nextState):
        with torch.no_grad():
            nextAction = self.actorTarget(nextState)
            noise = (self.policyNoise * torch.randn_like(nextAction)).clamp(-self.noiseClip, self.noiseClip)
            q1, q2 = self.criticTarget(nextState, (nextAction + noise).clamp(-1, 1))
            return reward + self.discount * torch.min(q1, q2)

    def update(self, state, action, reward, nextState):
        self.updates += 1
        target = self.computeTarget(reward, nextState)
        q1, q2 = self.critic(state, action)
        criticLoss = nn.functional.mse_loss(q1, target) + nn.functional.mse_loss(q2, target)
        self.criticOptimizer.zero_grad()
        criticLoss.backward()
        self.criticOptimizer.step()
        self.criticLosses.append(criticLoss.item())

        if self.updates % self.policyDelay == 0:
            actorLoss = -self.critic.first(state, self.actor(state)).mean()
            self.actorOptimizer.zero_grad()
            actorLoss.backward()
            self.actorOptimizer.step()
            self.actorLosses.append(actorLoss.item())
            self.softUpdate(self.actor, self.actorTarget)
            self.softUpdate(self.critic, self.criticTarget)

    def softUpdate(self, online, target):
        with torch.no_grad():
            for p, pt in zip(online.parameters(), target.parameters()):
                pt.mul_(1 - self.tau).add_(p, alpha=self.tau)


env = HoverDrone()
agent = TD3Agent(env.stateSize, env.actionSize)
replay = []
state, episodeReturn, returns = env.reset(), 0.0, []
for t in itertools.count():
    action = agent.act(state, exploration=0.3) if t > 40 else 2 * torch.rand(env.actionSize) - 1
    nextState, reward, done = env.step(action)
    replay.append((state, action, torch.tensor(reward), nextState))
    state = nextState
    episodeReturn += reward
    if done:
        returns.append(episodeReturn)
        state, episodeReturn = env.reset(), 0.0
    if t > 40 and t % 3 == 0:
        agent.update(*(torch.stack(column) for column in zip(*random.sample(replay, 32))))
        if agent.updates % 12 == 0:
            print(f"update {agent.updates:2d}  critic {agent.criticLosses[-1]:.4f}  actor {agent.actorLosses[-1]:+.4f}"
                  f"  return {returns[-1]:+.3f}")
    if agent.updates == 36:
        break

norms = [sum(p.abs().sum().item() for p in m.parameters())
         for m in (agent.actor, agent.critic, agent.actorTarget, agent.criticTarget)]
print("RESULT", *("%.6g" % v for v in norms + [agent.criticLosses[-1], agent.actorLosses[-1]]))
