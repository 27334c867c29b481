import torch
from torch import nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, lr=0.05, clip=1.0):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def step(self, x, y):
        with torch.autocast("cpu", enabled=False):
            loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def main():
    torch.manual_seed(95)
    x = torch.randn(240, 8)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    trainer = Trainer(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)))
    for epoch in range(4):
        losses = [trainer.step(a, b) for a, b in zip(x.split(40), y.split(40))]
    print(f"RESULT {losses[0]:.6g} {losses[-1]:.6g}")


main()
