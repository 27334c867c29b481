# kind: detach
# cause: carried-state
# carrier: self.h
import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.pi = nn.LSTMCell(4, 8), nn.Linear(8, 2)
        self.h, self.c = torch.zeros(1, 8), torch.zeros(1, 8)

    def forward(self, x):
        self.h, self.c = self.cell(x, (self.h, self.c))  #@built
        return self.pi(self.h)


class Runner:
    def __init__(self, agent):
        self.agent = agent
        self.optimizer = torch.optim.RMSprop(agent.parameters(), lr=0.01)

    def episode(self, length=3):
        total = 0.0
        for _ in range(length):
            logits = self.agent(torch.randn(1, 4))
            total = total + nn.functional.cross_entropy(logits, torch.tensor([1]))
        return total

    def learn(self, episodes=4):
        for _ in range(episodes):
            loss = self.episode()
            self.optimizer.zero_grad()
            loss.backward()  #@failed @freed
            self.optimizer.step()
            self.agent.h = self.agent.h.detach()  #+
            self.agent.c = self.agent.c.detach()  #+
        return loss.item()


torch.manual_seed(3)
agent = Agent()
runner = Runner(agent)
print("RESULT", runner.learn(), agent.pi.weight.sum().item())
