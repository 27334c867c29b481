import torch
from torch.nn import functional as F


class Client:
    def __init__(self, net):
        self.net = net

    def share(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        return [g.detach().clone() for g in torch.autograd.grad(loss, tuple(self.net.parameters()))]
