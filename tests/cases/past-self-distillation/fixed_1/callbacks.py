import torch

from engine import Callback


class PastSelf(Callback):
    """Keeps what the network thought of every sample the last time it saw it."""

    def __init__(self, temperature=2.0):
        self.temperature = temperature
        self.opinions = {}

    def lookup(self, ids, default):
        rows = [self.opinions.get(i, d) for i, d in zip(ids.tolist(), default)]
        return torch.stack(rows)

    def on_batch_end(self, trainer, batch, out):
        soft = out["soft"].detach()
        for i, row in zip(batch["id"].tolist(), soft):
            self.opinions[i] = row


class Progress(Callback):
    def __init__(self):
        self.total, self.seen = 0.0, 0

    def on_epoch_start(self, trainer):
        self.total, self.seen = 0.0, 0

    def on_batch_end(self, trainer, batch, out):
        n = len(batch["id"])
        self.total += out["loss"].item() * n
        self.seen += n

    def on_epoch_end(self, trainer):
        trainer.log[f"epoch{trainer.epoch}"] = self.total / self.seen
        print(f"[{trainer.epoch}] loss {self.total / self.seen:.4f}")
