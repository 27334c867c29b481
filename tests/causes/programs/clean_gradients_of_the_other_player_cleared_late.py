# clean
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
painter, judge = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
for_painter = torch.optim.Adam(painter.parameters(), 1e-3)
for_judge = torch.optim.Adam(judge.parameters(), 1e-3)
for _ in range(15):
    real, z = torch.randn(6, 4), torch.randn(6, 3)
    fooled = F.softplus(-judge(painter(z))).mean()
    fooled.backward()
    for_painter.step()
    for_painter.zero_grad()
    for_judge.zero_grad()
    unfair = F.softplus(-judge(real)).mean() + F.softplus(judge(painter(z).detach())).mean()
    unfair.backward()
    for_judge.step()
