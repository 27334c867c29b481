from contextlib import contextmanager


class Progress:
    def __init__(self):
        self.last = {}

    def show(self, **values):
        self.last.update(values)


class Runner:
    def __init__(self, module, progress):
        self.module, self.progress = module, progress
        self.optimizers = module.optimizers()

    @contextmanager
    def toggled(self, optimizer):
        mine = {id(p) for g in optimizer.param_groups for p in g["params"]}
        others = [p for p in self.module.parameters() if id(p) not in mine]
        for p in others:
            p.requires_grad_(False)
        try:
            yield
        finally:
            for p in others:
                p.requires_grad_(True)

    def run(self, batches):
        for index, batch in enumerate(batches):
            self.module.step(self, batch, index)
