from contextlib import suppress

import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.body(x))


def train(net, x, y, steps=24):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(steps):
        idx = torch.randint(len(x), (20,))
        logits = net(x[idx])
        noisy = net(x[idx] + 0.1 * torch.randn(20, 6))
        main_loss = F.cross_entropy(logits, y[idx])
        consistency = (logits.softmax(1) - noisy.softmax(1)).pow(2).sum(1).mean()
        opt.zero_grad()
        (main_loss + 0.5 * consistency).backward()
        opt.step()
    return main_loss.item(), consistency.item()


torch.manual_seed(110)
x = torch.randn(90, 6)
net = Net()
result = train(net, x, x[:, :3].argmax(1))
print("RESULT", *(f"{v:.6g}" for v in result), f"{net.head.weight.abs().sum().item():.6g}")
