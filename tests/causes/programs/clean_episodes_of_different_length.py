# clean
import torch
from torch import nn

torch.manual_seed(3)
policy = nn.Linear(4, 2)
adam = torch.optim.Adam(policy.parameters(), lr=0.01)


class Memory:
    def __init__(self):
        self.taken = []

    def play(self, length):
        for _ in range(length):
            choice = torch.distributions.Categorical(logits=policy(torch.randn(4)))
            action = choice.sample()
            self.taken.append((choice.log_prob(action), choice.entropy()))


memory = Memory()
for episode in range(24):
    memory.play(2 + episode % 12)  # one episode after the other is longer
    loss = -sum(log_prob + 0.1 * entropy for log_prob, entropy in memory.taken)
    adam.zero_grad()
    loss.backward()
    adam.step()
    del memory.taken[:]
print("RESULT", policy.weight.norm().item())
