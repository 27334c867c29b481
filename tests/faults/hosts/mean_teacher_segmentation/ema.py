import copy
import torch


class EMA:
    """Exponential moving average of a network, usable as a network."""

    def __init__(self, net, decay=0.99, warm=True):
        self.net = copy.deepcopy(net)
        for p in self.net.parameters():
            p.requires_grad = False
        self.decay, self.warm, self.updates = decay, warm, 0

    @torch.no_grad()
    def update(self, source):
        self.updates += 1
        d = min(self.decay, self.updates / (self.updates + 4)) if self.warm else self.decay
        for mine, theirs in zip(self.net.parameters(), source.parameters()):
            mine.copy_(d * mine + (1 - d) * theirs)
        for mine, theirs in zip(self.net.buffers(), source.buffers()):
            mine.copy_(theirs)

    @torch.no_grad()
    def __call__(self, *args):
        return self.net(*args)
