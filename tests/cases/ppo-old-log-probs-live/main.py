import torch
from torch import nn
from torch.distributions import Categorical


class RolloutBuffer:
    def __init__(self):
        self.states, self.actions, self.logprobs, self.rewards = [], [], [], []

    def clear(self):
        for items in (self.states, self.actions, self.logprobs, self.rewards):
            items.clear()


class PPO:
    def __init__(self, epochs=3, clip=0.2):
        self.policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=5e-3)
        self.buffer, self.epochs, self.clip = RolloutBuffer(), epochs, clip

    def select_action(self, state):
        dist = Categorical(logits=self.policy(state))
        action = dist.sample()
        self.buffer.states.append(state)
        self.buffer.actions.append(action)
        self.buffer.logprobs.append(dist.log_prob(action))
        return action.item()

    def update(self):
        states, actions = torch.stack(self.buffer.states), torch.stack(self.buffer.actions)
        old_logprobs = torch.stack(self.buffer.logprobs)
        rewards = torch.tensor(self.buffer.rewards)
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for _ in range(self.epochs):
            logprobs = Categorical(logits=self.policy(states)).log_prob(actions)
            ratio = (logprobs - old_logprobs).exp()
            surrogate = torch.min(ratio * advantage, ratio.clamp(1 - self.clip, 1 + self.clip) * advantage)
            loss = -surrogate.mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.buffer.clear()
        return loss.item()


torch.manual_seed(129)
ppo = PPO()
for episode in range(6):
    for t in range(12):
        state = torch.randn(3)
        ppo.buffer.rewards.append(state[ppo.select_action(state)].item())
    last = ppo.update()
print(f"RESULT {last:.6g} {ppo.policy[0].weight.abs().sum().item():.6g}")
