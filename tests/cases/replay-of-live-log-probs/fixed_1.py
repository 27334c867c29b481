import torch
from torch import nn
import torch.nn.functional as F

from memory import Memory


def play(net, memory, steps, g):
    for _ in range(steps):
        obs = torch.randn(4, generator=g)
        logp = F.log_softmax(net(obs), -1)
        action = int(torch.multinomial(logp.detach().exp(), 1, generator=g))
        memory.push(obs, action, logp[action], float(obs[action]))


def learn(net, opt, memory, rounds):
    for _ in range(rounds):
        batch = memory.sample(8)
        logps = torch.stack([F.log_softmax(net(b.obs), -1)[b.action] for b in batch])
        rewards = torch.tensor([b.reward for b in batch])
        loss = -(logps * (rewards - rewards.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(27)
g = torch.Generator().manual_seed(3)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
memory = Memory(64, seed=5)
for epoch in range(5):
    play(net, memory, 16, g)
    last = learn(net, opt, memory, 4)
print("RESULT", f"{last:.6g}", f"{net[0].weight.abs().sum().item():.6g}", len(memory))
