from collections import defaultdict

import torch
from torch import nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
log = defaultdict(list)
for epoch in range(3):
    for x in torch.randn(20, 4, 3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        log["loss"].append(loss)  # SP401
print(sum(l.item() for l in log["loss"]))
