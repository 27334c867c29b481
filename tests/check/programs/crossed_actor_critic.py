import torch
from torch import nn
from torch.distributions import Categorical

actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)

for episode in range(20):
    obs = torch.randn(32, 4)
    dist = Categorical(logits=actor(obs))
    action = dist.sample()
    reward = (action == 1).float()
    delta = reward - critic(obs).squeeze(-1)

    opt_c.zero_grad()
    delta.pow(2).mean().backward()
    opt_c.step()

    opt_a.zero_grad()
    policy = -(dist.log_prob(action) * delta).mean()
    policy.backward()  # SP106
    opt_a.step()
