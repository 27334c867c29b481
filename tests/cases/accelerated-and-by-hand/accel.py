from contextlib import contextmanager


class Accelerator:
    def __init__(self, accumulation=1):
        self.accumulation = accumulation

    def prepare(self, *things):
        return things

    @contextmanager
    def accumulate(self, model):
        model.train()
        yield

    def backward(self, loss, **kwargs):
        (loss / self.accumulation).backward(**kwargs)
