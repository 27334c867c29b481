# Actor and critic share the body that reads the observation; each has its own optimizer.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

body = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
actor = nn.Linear(32, 3)
critic = nn.Linear(32, 1)
opt_critic = torch.optim.Adam([*body.parameters(), *critic.parameters()], lr=1e-3)
opt_actor = torch.optim.Adam([*body.parameters(), *actor.parameters()], lr=1e-3)


def play(policy, n=64):
    """One-step game: the reward is high where the action matches the largest of three inputs."""
    observation = torch.randn(n, 6)
    features = body(observation)
    choice = torch.distributions.Categorical(logits=policy(features))
    action = choice.sample()
    reward = (action == observation[:, :3].argmax(dim=1)).float()
    return features, choice.log_prob(action), reward


for episode in range(30):
    features, log_prob, reward = play(actor)
    value = critic(features).squeeze(1)
    critic_loss = F.mse_loss(value, reward)
    actor_loss = -(log_prob * (reward - value.detach())).mean()

    opt_critic.zero_grad()
    critic_loss.backward(retain_graph=True)
    opt_critic.step()

    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    print(f"episode {episode:2d}  reward {reward.mean().item():.2f}")
