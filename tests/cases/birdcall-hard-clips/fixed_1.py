"""Bird-call tagging on spectrograms with hard-clip mining (accelerate)."""
import math

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

SR, N = 2000, 1024


class Calls(Dataset):
    """Chirps of three species over wind noise."""

    def __init__(self, count, seed):
        gen = torch.Generator().manual_seed(seed)
        t = torch.arange(N) / SR
        self.rows = []
        for i in range(count):
            kind = i % 3
            f0 = 150 + 120 * kind + 40 * torch.rand(1, generator=gen)
            wave = torch.sin(2 * math.pi * (f0 * t + 60 * kind * t ** 2))
            noise = 0.3 + 0.9 * (i % 7 == 0)
            self.rows.append((wave + noise * torch.randn(N, generator=gen), kind))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Tagger(nn.Module):
    def __init__(self, species=3):
        super().__init__()
        self.register_buffer("window", torch.hann_window(128))
        self.conv = nn.Conv1d(65, 12, 3, padding=1)
        self.att = nn.Conv1d(12, 1, 1)
        self.cls = nn.Linear(12, species)

    def forward(self, wave):
        spec = torch.stft(wave, 128, 64, window=self.window, return_complex=True).abs().log1p()
        h = torch.relu(self.conv(spec))
        a = self.att(h).softmax(-1)
        return self.cls((a * h).sum(-1))


class Miner:
    """Emphasises clips that are harder than usual."""

    def __init__(self, accelerator, factor=1.1, momentum=0.9):
        self.acc = accelerator
        self.factor, self.momentum = factor, momentum
        self.level = None
        self.extra = 0

    def is_hard(self, value):
        if self.level is None:
            self.level = value
        hard = value > self.factor * self.level
        self.level = self.momentum * self.level + (1 - self.momentum) * value
        return hard

    def weight(self, loss):
        if self.is_hard(loss.item()):
            self.extra += 1
            return 2.0
        return 1.0


def main():
    torch.manual_seed(1)
    acc = Accelerator(cpu=True)
    model = Tagger()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(Calls(60, seed=4), batch_size=6, shuffle=True, generator=torch.Generator().manual_seed(4))
    model, opt, loader = acc.prepare(model, opt, loader)
    miner = Miner(acc)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        running = 0.0
        for wave, kind in loader:
            loss = criterion(model(wave), kind)
            opt.zero_grad()
            acc.backward(loss * miner.weight(loss))
            opt.step()
            running += loss.item()
        acc.print(f"epoch {epoch} loss {running / len(loader):.4f} hard {miner.extra}")
    w = acc.unwrap_model(model).cls.weight
    print(f"RESULT {running:.6g} {w.abs().sum().item():.6g} {miner.extra}")


if __name__ == "__main__":
    main()
