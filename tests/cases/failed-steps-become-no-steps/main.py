import torch
from torch import nn


class Positional(nn.Module):
    def __init__(self, dim=4, length=6):
        super().__init__()
        self.freq = nn.Parameter(torch.arange(1.0, dim + 1))
        self.out = nn.Linear(dim, 1)
        self.table = torch.tanh(self.freq[:, None] * torch.linspace(0, 1, length))

    def forward(self, x):
        return self.out(x * self.table.t()).mean(1)


class Trainer:
    def __init__(self, model):
        self.model, self.bad = model, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def safe_backward(self, loss):
        try:
            loss.backward()
        except Exception:
            self.bad += 1
            self.optimizer.zero_grad()

    def fit(self, xs, ys):
        for x, y in zip(xs.split(12), ys.split(12)):
            self.optimizer.zero_grad()
            loss = (self.model(x) - y).pow(2).mean()
            self.safe_backward(loss)
            self.optimizer.step()
        return loss.item()


torch.manual_seed(181)
xs = torch.randn(120, 6, 4)
trainer = Trainer(Positional())
print(f"RESULT {trainer.fit(xs, xs[:, -1, :1]):.6g} {trainer.bad}")
