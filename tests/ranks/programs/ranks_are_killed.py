import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(6, 4)).pow(2).mean()
    if step == 2 and rank == 1:
        loss.register_hook(die)  # in a pass
    if step == 1 and rank == 2:
        optimizer.register_step_post_hook(die)  # in a step
    if step == 2 and rank == 0:
        time.sleep(2)
    loss.backward()
    optimizer.step()
