import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1))
opt = torch.optim.Adam(net.parameters())
data = DataLoader(TensorDataset(torch.randn(32, 6), torch.randn(32, 1)), batch_size=8, shuffle=True)
for epoch in range(2):
    for x, y in data:
        losses = []
        for p, t in zip(net(x), y):
            losses.append(((p - t) ** 2).item())
        loss = torch.tensor(losses).mean()
        opt.zero_grad()
        loss.backward()  # SP301
        opt.step()
