# lost-history: policy Losses.policy pg
from dataclasses import dataclass
import torch
from torch import nn, optim

@dataclass
class Losses:
    policy: torch.Tensor
    entropy: torch.Tensor

    @property
    def total(self):
        return self.policy - 0.01 * self.entropy

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Linear(3, 2)

    def evaluate(self, obs, ret):
        dist = torch.distributions.Categorical(logits=self.pi(obs))
        act = dist.sample()
        pg = -(dist.log_prob(act) * ret).mean()
        return Losses(policy=torch.as_tensor(pg.item()), entropy=dist.entropy().mean().data)  #! built

agent = Agent()
optimizer = optim.RMSprop(agent.parameters())
for episode in range(3):
    result = agent.evaluate(torch.randn(10, 3), torch.randn(10))
    optimizer.zero_grad()
    result.total.backward()  #! failed
    optimizer.step()
