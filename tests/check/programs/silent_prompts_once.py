import torch
from torch import nn

context = nn.Parameter(torch.randn(2, 4))
names = torch.randn(3, 4)
text = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)).requires_grad_(False)
prompts = torch.cat([context, names])
opt = torch.optim.SGD([context], lr=0.5)
for step in range(30):
    loss = text(prompts + torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # SP110
    opt.step()
