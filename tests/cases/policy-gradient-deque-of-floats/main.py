from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(53)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
recent, baseline = deque(maxlen=10), 0.0
for episode in range(40):
    log_probs, rewards = [], []
    for _ in range(8):
        obs = torch.randn(3)
        dist = Categorical(logits=policy(obs))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        rewards.append(obs[a].item())
    total = sum(rewards)
    loss = -(total - baseline) * torch.stack(log_probs).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    baseline = 0.9 * baseline + 0.1 * total
    recent.append(total)
print(f"RESULT {sum(recent) / len(recent):.6g} {baseline:.6g}")
