import abc
from collections import defaultdict

import torch


class BaseTrainer(abc.ABC):
    """Subclass and fill in the hooks."""
    def __init__(self, max_epochs: int):
        self.max_epochs = max_epochs
        self.current_epoch = 0
        self.history = []
        self.networks = self.build_networks()
        self.optimizers = self.configure_optimizers()

    @abc.abstractmethod
    def build_networks(self): ...

    @abc.abstractmethod
    def configure_optimizers(self): ...

    @abc.abstractmethod
    def train_dataloader(self): ...

    @abc.abstractmethod
    def training_step(self, batch, batch_idx): ...

    def on_fit_start(self): pass
    def on_epoch_end(self, metrics): pass
    def validate(self): return {}

    def apply_update(self, which: str, loss: torch.Tensor) -> float:
        optimizer = self.optimizers[which]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def fit(self):
        self.on_fit_start()
        for self.current_epoch in range(self.max_epochs):
            sums, n = defaultdict(float), 0
            for batch_idx, batch in enumerate(self.train_dataloader()):
                for name, value in self.training_step(batch, batch_idx).items():
                    sums[name] += value
                n += 1
            metrics = {name: total / n for name, total in sums.items()}
            with torch.no_grad():
                metrics.update(self.validate())
            self.history.append(metrics)
            self.on_epoch_end(metrics)
        return self

    def fingerprint(self):
        return {k: sum(p.detach().abs().sum().item() for p in n.parameters()) for k, n in self.networks.items()}
