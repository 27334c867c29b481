import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.names = nn.Linear(8, 3)
        self.dates = nn.Linear(8, 3)

    def forward(self, x):
        features = torch.tanh(self.trunk(x))
        return self.names(features), self.dates(features)


def main():
    torch.manual_seed(0)
    model = DistributedDataParallel(Tagger())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())
    for step in range(3):
        x = torch.randn(6, 4)
        optimizer.zero_grad()
        real, scores = model(x)
        (real.pow(2).mean() + scores.mean()).backward()
        fake, scores = model(x + 1)
        (fake.pow(2).mean() + scores.mean()).backward()
        optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    main()
    dist.destroy_process_group()
