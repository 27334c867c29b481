from collections import namedtuple

Result = namedtuple("Result", "step loss output")


class Recorder:
    def __init__(self, every):
        self.every = every
        self.records = []

    def on_step_end(self, result):
        self.records.append(result)
        if result.step % self.every == 0:
            print(f"step {result.step} loss {result.loss:.4f}")

    def best(self):
        return min(r.loss.item() for r in self.records)
