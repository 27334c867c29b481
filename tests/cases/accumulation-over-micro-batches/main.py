import torch
from torch import nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, accumulate=4):
        self.model, self.accumulate = model, accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 5, 0.8)

    def fit(self, batches, epochs):
        log = []
        for _ in range(epochs):
            for i, (x, y) in enumerate(batches):
                loss = F.cross_entropy(self.model(x), y) / self.accumulate
                loss.backward()
                if (i + 1) % self.accumulate == 0 or i + 1 == len(batches):
                    nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.optimizer.zero_grad(set_to_none=False)
                    self.scheduler.step()
                log.append(loss.item())
        return log


torch.manual_seed(41)
x = torch.randn(110, 6)
y = (x[:, 0] > x[:, 1]).long()
trainer = Trainer(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)))
log = trainer.fit(list(zip(x.split(10), y.split(10))), 4)
print("RESULT", f"{log[0]:.6g}", f"{log[-1]:.6g}")
