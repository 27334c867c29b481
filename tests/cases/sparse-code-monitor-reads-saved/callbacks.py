class Timeline:
    def __init__(self):
        self.losses = []

    def batch_done(self, run, loss):
        self.losses.append(loss)

    def epoch_done(self, run, epoch):
        print(f"epoch {epoch} step {run.step} loss {self.losses[-1]:.4f}")


class Sparsity:
    """How many of the code units survive, read off the mask the layer saved for its backward."""

    def __init__(self, every):
        self.every = every
        self.shares = []

    def batch_done(self, run, **info):
        if run.step % self.every:
            return
        mask, = run.model.code.grad_fn.saved_tensors
        self.shares.append(mask.any(0).float().mean().item())

    def mean(self):
        return sum(self.shares) / len(self.shares)
