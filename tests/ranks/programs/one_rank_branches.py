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


dist.init_process_group("gloo")
model = DistributedDataParallel(Tagger())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    names, dates = model(torch.randn(6, 4))
    loss = names.pow(2).mean()
    if step != 2 or dist.get_rank() == 0:
        loss = loss + dates.pow(2).mean()
    loss.backward()
    optimizer.step()
