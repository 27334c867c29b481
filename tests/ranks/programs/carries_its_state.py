import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.GRU(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
h = None
for step in range(3):
    y, h = model(torch.randn(5, 2, 4), h)
    loss = y.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
