import torch
from torch import nn
from torch.nn import functional as F


class Agent(nn.Module):
    def __init__(self, obs, hidden, moves):
        super().__init__()
        self.speak = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
        self.act = nn.Sequential(nn.Linear(obs + hidden, hidden), nn.ReLU(), nn.Linear(hidden, moves))

    def forward(self, obs, heard):
        return self.act(torch.cat([obs, heard], dim=-1))


class Team:
    def __init__(self, n=3, obs=4, hidden=12, moves=4):
        self.agents = [Agent(obs, hidden, moves) for _ in range(n)]
        self.optims = [torch.optim.RMSprop(a.parameters(), lr=2e-3) for a in self.agents]

    def heard_by(self, me, obs):
        said = [other.speak(obs[j]) for j, other in enumerate(self.agents) if j != me]
        return torch.stack(said).mean(0)

    def learn(self, obs, goal):
        total = 0.0
        for i, (agent, optim) in enumerate(zip(self.agents, self.optims)):
            loss = F.cross_entropy(agent(obs[i], self.heard_by(i, obs)), goal)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
        return total


torch.manual_seed(17)
team = Team()
for round_ in range(50):
    obs = torch.randn(3, 20, 4)
    total = team.learn(obs, obs.sum(0).argmax(-1))
print(f"RESULT {total:.5f}")
