import torch


class Callback:
    def on_train_begin(self, run): pass
    def on_backward_end(self, run): pass
    def on_batch_end(self, run, logs): pass
    def on_epoch_end(self, run): pass
    def on_train_end(self, run): pass


class ClipGradients(Callback):
    def __init__(self, max_norm):
        self.max_norm, self.n_clipped = max_norm, 0

    def on_backward_end(self, run):
        norm = torch.nn.utils.clip_grad_norm_(run.model.parameters(), self.max_norm)
        self.n_clipped += int(norm.item() > self.max_norm)


class History(Callback):
    def on_train_begin(self, run):
        self.batches = []

    def on_batch_end(self, run, logs):
        self.batches.append(dict(logs, epoch=run.epoch))

    def mean(self, epoch):
        values = [b["loss"] for b in self.batches if b["epoch"] == epoch]
        return sum(values) / len(values)


class PolyakAverage(Callback):
    """Keeps averaged weights on the side, swaps them in at the end."""

    def __init__(self, decay=0.8):
        self.decay = decay

    def on_train_begin(self, run):
        self.shadow = {k: v.detach().clone() for k, v in run.model.named_parameters()}

    @torch.no_grad()
    def on_batch_end(self, run, logs):
        for k, v in run.model.named_parameters():
            self.shadow[k].lerp_(v, 1 - self.decay)

    def on_train_end(self, run):
        run.raw = {k: v.detach().clone() for k, v in run.model.named_parameters()}
        run.model.load_state_dict(self.shadow)


class Reporter(Callback):
    def __init__(self, history, dev):
        self.history, self.dev = history, dev

    def on_epoch_end(self, run):
        words, tags = self.dev
        with torch.no_grad():
            accuracy = (run.model.decode(words) == tags).float().mean().item()
        run.dev_accuracy = accuracy
        print(f"[{run.epoch}] nll {self.history.mean(run.epoch):.4f} dev accuracy {accuracy:.4f}")
