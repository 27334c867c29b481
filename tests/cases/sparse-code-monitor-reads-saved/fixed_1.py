from dataclasses import dataclass, field

import torch
from torch import nn

from callbacks import Sparsity, Timeline
from winners import KeepWinners


class SparseCoder(nn.Module):
    def __init__(self, n, codes, k):
        super().__init__()
        self.encode = nn.Linear(n, codes)
        self.decode = nn.Linear(codes, n)
        self.k = k
        self.code = None

    def forward(self, x):
        self.code = KeepWinners.apply(torch.relu(self.encode(x)), self.k)
        return self.decode(self.code)


@dataclass
class Run:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    callbacks: list = field(default_factory=list)
    step: int = 0

    def emit(self, event, **info):
        for callback in self.callbacks:
            getattr(callback, event, lambda *a, **k: None)(self, **info)

    def fit(self, patches, epochs, batch):
        for epoch in range(epochs):
            for x in patches[torch.randperm(len(patches))].split(batch):
                loss = (self.model(x) - x).square().mean()
                self.optimizer.zero_grad()
                self.step += 1
                self.emit("batch_done", loss=loss.item())
                loss.backward()
                self.optimizer.step()
            self.emit("epoch_done", epoch=epoch)


def bars(n, size=5):
    rows = (torch.rand(n, size, 1) < 0.2).float().expand(n, size, size)
    cols = (torch.rand(n, 1, size) < 0.2).float().expand(n, size, size)
    return torch.maximum(rows, cols).flatten(1) + 0.05 * torch.randn(n, size * size)


torch.manual_seed(15)
model = SparseCoder(25, 20, k=5)
sparsity, timeline = Sparsity(every=4), Timeline()
run = Run(model, torch.optim.Adam(model.parameters(), lr=1e-2), [timeline, sparsity])
run.fit(bars(192), epochs=3, batch=24)
print("RESULT", f"{timeline.losses[-1]:.6g}", f"{sparsity.mean():.6g}", f"{model.decode.weight.norm().item():.6g}")
