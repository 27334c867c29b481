import torch
from torch import nn


class Trainer:
    def __init__(self, max_epochs, callbacks=(), clip=None):
        self.max_epochs, self.callbacks, self.clip = max_epochs, list(callbacks), clip

    def _call(self, hook, *args):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    def _optimize(self, module, optimizer, batch):
        loss = module.training_step(batch)
        optimizer.zero_grad()
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(module.parameters(), self.clip)
        optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def _validate(self, module, loader):
        module.eval()
        scores = [module.validation_step(batch) for batch in loader]
        module.train()
        return torch.stack(scores).mean().item()

    def fit(self, module, train, val):
        optimizer = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            for batch in train:
                self._call("on_train_batch_end", self._optimize(module, optimizer, batch))
            self._call("on_epoch_end", {"val": self._validate(module, val)})
