# lost-history: loss values v
import torch
from torch import nn
from torch.nn import functional as F


def batch_loss(net, batch):
    values = [F.mse_loss(net(x), x.sum(-1, keepdim=True)) for x in batch]
    return torch.tensor([float(v) for v in values], requires_grad=True).mean()  #! built


def main():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(12):
        loss = batch_loss(net, torch.randn(3, 5, 4))
        optimizer.zero_grad()
        loss.backward()  #! failed
        optimizer.step()


main()
