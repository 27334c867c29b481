import torch
from torch import nn
import torch.nn.functional as F


class LookaheadTrainer:
    def __init__(self, model, lr=0.05, patience=25):
        self.model, self.patience = model, patience
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.best, self.waited, self.kicks = float("inf"), 0, 0

    def step(self, x, y):
        loss = F.smooth_l1_loss(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.track(loss)
        return loss.item()

    def track(self, loss):
        if loss.item() < self.best - 1e-3:
            self.best, self.waited = loss.item(), 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            self.kick(loss)

    def kick(self, loss):
        """A larger step to get off the plateau."""
        self.opt.zero_grad()
        loss.backward()
        for group in self.opt.param_groups:
            group["lr"] *= 4
        self.opt.step()
        for group in self.opt.param_groups:
            group["lr"] /= 4
        self.waited, self.kicks = 0, self.kicks + 1


torch.manual_seed(44)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
trainer = LookaheadTrainer(model)
for i in range(300):
    x = torch.randn(16, 3)
    last = trainer.step(x, (2 * x[:, :1]).sin())
print(f"RESULT {last:.6g} {trainer.kicks}")
