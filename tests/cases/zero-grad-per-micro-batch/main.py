import torch
from torch import nn


class Stage1Trainer:
    def __init__(self, model, grad_accum=4):
        self.model, self.grad_accum = model, grad_accum
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def loss(self, x, y):
        return nn.functional.mse_loss(self.model(x), y)

    def epoch(self, batches):
        total = 0.0
        for step, (x, y) in enumerate(batches):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(x, y) / self.grad_accum
            loss.backward()
            if (step + 1) % self.grad_accum == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            total += loss.item()
        return total


def main():
    torch.manual_seed(100)
    x = torch.randn(128, 6)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
    trainer = Stage1Trainer(nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 2)))
    curve = [trainer.epoch(list(zip(x.split(8), y.split(8)))) for _ in range(4)]
    print("RESULT", *(f"{c:.6g}" for c in curve))


main()
