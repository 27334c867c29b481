# stored-history: replay[0][1]; detach recompute
import random
import torch
from torch import nn
random.seed(0); torch.manual_seed(0)
value = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam([*value.parameters(), *policy.parameters()], lr=.01)
replay = []
for t in range(8):
    s = torch.randn(4)
    lp = torch.log_softmax(policy(s), -1)[0]  #! built
    replay.append((s, lp, float(torch.rand(()))))
    batch = replay[-3:]
    loss = sum(-(p * (r - value(s_).squeeze().detach())) + (value(s_).squeeze() - r) ** 2 for s_, p, r in batch)
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
print("RESULT", loss.item())
