# unreached-parameter: self.net.value; keep-history
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 16)
        self.policy = nn.Linear(16, 3)
        self.value = nn.Linear(16, 1)

    def forward(self, s):
        h = torch.tanh(self.trunk(s))
        return self.policy(h), self.value(h).squeeze(-1)


class Agent:
    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def learn(self, states, returns):
        logits, values = self.net(states)
        dist = Categorical(logits=logits)
        actions = dist.sample()
        adv = returns - values.detach()
        policy_loss = -(dist.log_prob(actions) * adv).mean()
        value_loss = (returns - values).pow(2).mean()
        entropy = dist.entropy().mean()
        loss = policy_loss - 0.01 * entropy  #! failed
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), value_loss.item()


agent = Agent()
for ep in range(6):
    s = torch.randn(20, 4)
    out = agent.learn(s, s.sum(-1))
print("RESULT", *out)
