from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class TrainConfig:
    grad_accum: int = 1
    lr: float = 1e-2


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
        self.history = []

    def train_epoch(self, loader):
        total = 0.0
        for i, batch in enumerate(loader):
            loss = self.training_step(batch) / self.cfg.grad_accum
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            if (i + 1) % self.cfg.grad_accum == 0:
                self.optimizer.step()
            total += loss.item()
        self.history.append(total)

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self.model(x), y)
