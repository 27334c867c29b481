import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x):
        for turn in range(2):
            x = checkpoint(self.block, x, use_reentrant=True)
        return x


def main():
    torch.manual_seed(0)
    model = DistributedDataParallel(Shared())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())
    for step in range(3):
        x = torch.randn(6, 4, requires_grad=True)
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    main()
    dist.destroy_process_group()
