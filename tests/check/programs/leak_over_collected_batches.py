import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
batches = []
for _ in range(40):
    batches.append((torch.randn(4, 3), torch.randn(4, 1)))
for epoch in range(2):
    total = 0
    for x, y in batches:
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss  # SP401
    print(total.item())
