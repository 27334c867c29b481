import torch

from callbacks import ClipGradients, History, PolyakAverage, Reporter
from crf import Tagger

VOCAB, TAGS, LENGTH = 20, 4, 8


def corpus(n, gen):
    """Tags follow a sticky chain; words are noisy emissions of tags."""
    tags = torch.zeros(n, LENGTH, dtype=torch.long)
    tags[:, 0] = torch.randint(TAGS, (n,), generator=gen)
    for t in range(1, LENGTH):
        stay = torch.rand(n, generator=gen) < 0.6
        tags[:, t] = torch.where(stay, tags[:, t - 1], (tags[:, t - 1] + 1) % TAGS)
    words = tags * 5 + torch.randint(5, (n, LENGTH), generator=gen)
    noise = torch.rand(n, LENGTH, generator=gen) < 0.2
    return torch.where(noise, torch.randint(VOCAB, (n, LENGTH), generator=gen), words), tags


class Run:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks
        self.epoch = 0

    def emit(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def fit(self, words, tags, epochs, batch):
        self.emit("on_train_begin")
        for self.epoch in range(epochs):
            for idx in torch.randperm(len(words)).split(batch):
                self.optimizer.zero_grad()
                loss = self.model.loss(words[idx], tags[idx])
                loss.backward()
                self.emit("on_backward_end")
                self.optimizer.step()
                self.emit("on_batch_end", {"loss": loss.item(), "size": len(idx)})
            self.emit("on_epoch_end")
        self.emit("on_train_end")


torch.manual_seed(31)
gen = torch.Generator().manual_seed(32)
train, dev = corpus(96, gen), corpus(32, gen)
tagger = Tagger(VOCAB, TAGS)
history, clip = History(), ClipGradients(0.5)
run = Run(tagger, torch.optim.Adam(tagger.parameters(), lr=2e-2), [clip, history, PolyakAverage(), Reporter(history, dev)])
run.fit(*train, epochs=5, batch=16)
raw = sum(v.abs().sum().item() for v in run.raw.values())
averaged = sum(v.detach().abs().sum().item() for v in tagger.parameters())
print("RESULT %.6g %.6g %.6g %.6g %d" % (raw, averaged, history.batches[-1]["loss"], run.dev_accuracy, clip.n_clipped))
