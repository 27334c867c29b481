# kind: detach
# cause: stored-history
# carrier: memory[...]
import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(7)
encoder, q = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)
opt = torch.optim.SGD([*encoder.parameters(), *q.parameters()], lr=0.01)
memory = deque(maxlen=50)
for t in range(12):
    obs = torch.randn(4)
    code = encoder(obs)  #@built
    reward = obs.sum().item()
    memory.append((code, random.randrange(2), reward))  #-
    memory.append((code.detach(), random.randrange(2), reward))  #+
    if len(memory) < 4:
        continue
    batch = random.sample(list(memory), 4)
    codes = torch.stack([b[0] for b in batch])
    actions = torch.tensor([b[1] for b in batch])
    rewards = torch.tensor([b[2] for b in batch])
    value = q(codes).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = (value - rewards).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #@failed @freed
    opt.step()
print("RESULT", loss.item(), q.weight.sum().item())
