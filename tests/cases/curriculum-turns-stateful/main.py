import torch
from torch import nn, optim

PHASES = [dict(epochs=2, length=4, stateful=False), dict(epochs=2, length=8, stateful=False), dict(epochs=2, length=8, stateful=True)]


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rnn = nn.RNN(3, dim, batch_first=True)
        self.stateful = False
        self.state = None

    def forward(self, x):
        start = self.state if self.stateful else None
        out, h = self.rnn(x, start)
        self.state = h
        return out


class Forecaster(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.encoder = Encoder(dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 3))

    def forward(self, x):
        return self.head(self.encoder(x))


class Trainer:
    def __init__(self, model, series):
        self.model, self.series = model, series
        self.optimizer = optim.Adam(model.parameters(), lr=5e-3)

    def batches(self, length):
        for i in range(0, self.series.size(1) - length - 1, length):
            yield self.series[:, i:i + length], self.series[:, i + 1:i + length + 1]

    def run_phase(self, epochs, length, stateful):
        self.model.encoder.stateful = stateful
        for _ in range(epochs):
            self.model.encoder.state = None
            total = n = 0
            for x, y in self.batches(length):
                loss = nn.functional.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total, n = total + loss.item(), n + 1
        return total / n


def main():
    torch.manual_seed(4)
    series = torch.sin(torch.linspace(0, 30, 65)[None, :, None] + torch.rand(6, 1, 3) * 3)
    trainer = Trainer(Forecaster(), series)
    curve = [trainer.run_phase(**phase) for phase in PHASES]
    print("RESULT", *(f"{c:.6g}" for c in curve))


if __name__ == "__main__":
    main()
