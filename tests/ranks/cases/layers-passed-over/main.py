import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            if random.random() < 0.5:
                continue
            x = x + torch.tanh(layer(x))
        return x


def main():
    torch.manual_seed(0)
    random.seed(3)
    model = DistributedDataParallel(Dropped())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())
    for step in range(3):
        x = torch.randn(6, 4)
        optimizer.zero_grad()
        out = model(x)
        out.pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    main()
    dist.destroy_process_group()
