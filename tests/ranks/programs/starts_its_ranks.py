import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def train(rank, world, file):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.GRU(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    h = None
    for batch in DataLoader(torch.randn(12, 5, 4), batch_size=4, num_workers=1):
        y, h = model(batch.transpose(0, 1), h)
        loss = y.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    how, file = sys.argv[1:]
    mp.start_processes(train, args=(2, os.path.abspath(file)), nprocs=2, start_method=how)
