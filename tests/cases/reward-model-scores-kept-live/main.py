import random

import torch
from torch import nn

torch.manual_seed(171)
rng = random.Random(9)
reward_model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
episodes = []


def act(obs):
    return torch.multinomial(policy(obs).softmax(-1).detach(), 1).squeeze(1)


def collect():
    obs = torch.randn(10, 4)
    actions = act(obs)
    episodes.append({"obs": obs, "actions": actions, "score": reward_model(obs).mean()})


def improve():
    picked = rng.sample(episodes, 2)
    loss = 0
    for ep in picked:
        logp = policy(ep["obs"]).log_softmax(-1).gather(1, ep["actions"][:, None]).mean()
        loss = loss - ep["score"] * logp
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for _ in range(3):
    collect()
log = []
for it in range(12):
    if it % 3 == 0:
        collect()
    log.append(improve())
print(f"RESULT {log[0]:.6g} {log[-1]:.6g}")
