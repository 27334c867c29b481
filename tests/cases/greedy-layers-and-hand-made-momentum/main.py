import torch
from torch import nn
from torch.nn import functional as F


class Momentum:
    def __init__(self, params, lr, beta=0.9):
        self.params, self.lr, self.beta = list(params), lr, beta
        self.velocity = [torch.zeros_like(p) for p in self.params]

    def step(self):
        with torch.no_grad():
            for p, v in zip(self.params, self.velocity):
                if p.grad is None:
                    continue
                v.mul_(self.beta).add_(p.grad)
                p.sub_(self.lr * v)
                p.grad = None


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.down, self.up = nn.Linear(i, o), nn.Linear(o, i)

    def encode(self, x):
        return torch.tanh(self.down(x))

    def forward(self, x):
        return self.up(self.encode(x))


def pretrain(stack, data, steps):
    ends = []
    below = data
    for layer in stack:
        rule = Momentum(layer.parameters(), lr=0.02)
        for _ in range(steps):
            x = below[torch.randint(0, len(below), (32,))]
            loss = F.mse_loss(layer(x + 0.1 * torch.randn_like(x)), x)
            loss.backward()
            rule.step()
        ends.append(loss.item())
        below = layer.encode(below).detach()
    return ends


def finetune(stack, head, data, labels, steps):
    rule = Momentum([*(p for layer in stack for p in layer.down.parameters()), *head.parameters()], lr=0.01)
    for _ in range(steps):
        rows = torch.randint(0, len(data), (32,))
        x = data[rows]
        for layer in stack:
            x = layer.encode(x)
        loss = F.cross_entropy(head(x), labels[rows])
        loss.backward()
        rule.step()
    return loss.item()


torch.manual_seed(58)
data = torch.randn(200, 3) @ torch.randn(3, 12)
labels = (data[:, 0] > 0).long()
stack = [Layer(12, 8), Layer(8, 4)]
ends = pretrain(stack, data, 40)
print("RESULT", *(f"{v:.5f}" for v in (*ends, finetune(stack, nn.Linear(4, 2), data, labels, 60))))
