# clean
import torch
from torch import nn
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
og, od = torch.optim.RMSprop(G.parameters()), torch.optim.RMSprop(D.parameters())
for _ in range(10):
    real = torch.randn(6, 3)
    real_score = D(real).mean()
    d = D(G(torch.randn(6, 2)).detach()).mean() - real_score
    od.zero_grad(); d.backward(); od.step()
    g = real_score.item() - D(G(torch.randn(6, 2))).mean()
    og.zero_grad(); g.backward(); og.step()
