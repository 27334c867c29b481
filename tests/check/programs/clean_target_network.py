import copy

import torch
from torch import nn

q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(q)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = []
for t in range(100):
    s = torch.randn(4)
    with torch.no_grad():
        a = q(s).argmax().item()
    memory.append((s, a, torch.randn(()), torch.randn(4)))
    if len(memory) >= 16:
        batch = memory[-16:]
        states = torch.stack([b[0] for b in batch])
        actions = torch.tensor([b[1] for b in batch])
        rewards = torch.stack([b[2] for b in batch])
        nexts = torch.stack([b[3] for b in batch])
        goal = rewards + 0.9 * target(nexts).max(1).values
        value = q(states).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for p, t_ in zip(q.parameters(), target.parameters()):
            t_.data.copy_(0.99 * t_.data + 0.01 * p.data)
