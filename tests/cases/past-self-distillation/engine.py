import torch


class Callback:
    def on_epoch_start(self, trainer): ...
    def on_batch_end(self, trainer, batch, out): ...
    def on_epoch_end(self, trainer): ...


class Trainer:
    def __init__(self, task, optimizer, callbacks=(), epochs=4):
        self.task, self.optimizer = task, optimizer
        self.callbacks, self.epochs = list(callbacks), epochs
        self.epoch = 0
        self.log = {}

    def _emit(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def fit(self, loader):
        for self.epoch in range(self.epochs):
            self._emit("on_epoch_start")
            for batch in loader:
                out = self.task.step(batch, self)
                self.optimizer.zero_grad()
                out["loss"].backward()
                self.optimizer.step()
                self._emit("on_batch_end", batch, out)
            self._emit("on_epoch_end")
        return self.log
