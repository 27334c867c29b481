import torch
from torch import nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p

    def distance(self, model):
        return sum((p - self.shadow[name]).pow(2).sum() for name, p in model.named_parameters())


def train(model, x, y, steps=20):
    ema = EMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        idx = torch.randint(len(x), (16,))
        loss = F.cross_entropy(model(x[idx]), y[idx]) + 0.5 * ema.distance(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    return loss.item()


torch.manual_seed(151)
x = torch.randn(80, 5)
print("RESULT %.6g" % train(nn.Linear(5, 2), x, (x[:, 0] > 0).long()))
