class Callback:
    def on_train_batch_end(self, trainer, loss):
        pass

    def on_epoch_end(self, trainer, metrics):
        pass


class LossCurve(Callback):
    def __init__(self):
        self.train, self._sum, self._n = [], 0.0, 0

    def on_train_batch_end(self, trainer, loss):
        self._sum += float(loss)
        self._n += 1

    def on_epoch_end(self, trainer, metrics):
        self.train.append(self._sum / max(self._n, 1))
        self._sum, self._n = 0.0, 0
