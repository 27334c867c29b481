# Deterministic policy gradient: the critic learns from rewards, the actor from the critic.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())
critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)


def play(policy, n=64):
    """One-step game: the reward is high where the action is near the first two numbers that are observed."""
    observation = torch.rand(n, 4)
    with torch.no_grad():
        action = (policy(observation) + 0.3 * torch.randn(n, 2)).clamp(-1, 1)
    return observation, action, -(action - observation[:, :2]).pow(2).sum(dim=1)


for episode in range(30):
    observation, action, reward = play(actor)
    value = critic(torch.cat([observation, action], dim=1)).squeeze(1)
    critic_loss = F.mse_loss(value, reward)
    actor_loss = -critic(torch.cat([observation, actor(observation)], dim=1)).mean()

    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()

    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    print(f"episode {episode:2d}  reward {reward.mean().item():.2f}")
