import torch
from torch import nn
import torch.nn.functional as F


class Loop:
    def __init__(self, model, accumulate, lr=3e-3):
        self.model, self.accumulate = model, accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 10)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.curve, self.updates = [], 0

    def epoch(self, batches):
        batches = list(batches)
        window = 0.0
        for i, ids in enumerate(batches, 1):
            logits = self.model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) / self.accumulate
            self.scaler.scale(loss).backward()
            window += loss.detach()
            if i % self.accumulate == 0 or i == len(batches):
                self.update()
                self.curve.append(window.item())
                window = 0.0

    def update(self):
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.updates += 1
