import random
from collections import deque

import torch
from torch import nn


class Agent:
    def __init__(self, n_obs, n_act):
        self.n_act = n_act
        self.q, self.target = nn.Linear(n_obs, n_act), nn.Linear(n_obs, n_act)
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-2)
        self.memory = deque(maxlen=200)
        self.rng = random.Random(0)

    def act(self, obs, eps=0.3):
        if self.rng.random() < eps:
            return self.rng.randrange(self.n_act)
        with torch.no_grad():
            return int(self.q(obs).argmax())

    def replay(self, n=16):
        obs, actions, rewards, nxt = (torch.stack(c) for c in zip(*self.rng.sample(list(self.memory), n)))
        q_all = self.q(obs)
        predicted = torch.tensor([q_all[i, a].item() for i, a in enumerate(actions.tolist())])
        with torch.no_grad():
            wanted = rewards + 0.9 * self.target(nxt).amax(1)
        loss = nn.functional.mse_loss(predicted, wanted)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(78)
agent = Agent(4, 3)
obs, losses = torch.randn(4), []
for t in range(60):
    a = agent.act(obs)
    nxt = 0.5 * obs + torch.randn(4)
    agent.memory.append((obs, torch.tensor(a), obs[a], nxt))
    obs = nxt
    if len(agent.memory) >= 16:
        losses.append(agent.replay())
print(f"RESULT {losses[0]:.6g} {losses[-1]:.6g}")
