import torch
from torch import nn

model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
centre = torch.zeros(3)
for step in range(50):
    out = model(torch.randn(16, 6))
    centre = 0.9 * centre + 0.1 * out.mean(0)
    loss = (out - centre).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # SP103
    optimizer.step()
