import torch
from torch import nn
import torch.nn.functional as F


class History(dict):
    def log(self, **values):
        for k, v in values.items():
            self.setdefault(k, []).append(v)

    def last(self, k):
        return float(self[k][-1])


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean()


def train(model, data, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    history = History()
    for epoch in range(epochs):
        for x, y in data:
            logits = model(x)
            ce = F.cross_entropy(logits, y)
            l2 = sum(p.square().sum() for p in model.parameters())
            loss = ce + 1e-4 * l2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.log(loss=loss.item(), ce=ce.item(), l2=l2, acc=accuracy(logits, y))
    return history


torch.manual_seed(30)
x = torch.randn(200, 6)
y = (x[:, 0] > x[:, 1]).long()
history = train(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2)), list(zip(x.split(20), y.split(20))), 4)
print(f"RESULT {history.last('loss'):.6g} {history.last('l2'):.6g} {history.last('acc'):.6g}")
