import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(20):
    x = torch.randn(8, 2, requires_grad=True)
    score = critic(x)
    (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    penalty = ((g.norm(dim=1) - 1) ** 2).mean()
    loss = score.mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
