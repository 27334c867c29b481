import torch
from torch import nn


class VoiceDetector(nn.Module):
    def __init__(self, bands=8, width=16):
        super().__init__()
        self.front = nn.Conv1d(bands, width, 3, padding=1)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h, _ = self.rnn(torch.relu(self.front(x)).transpose(1, 2))
        return self.out(h[:, -1]).squeeze(-1)


def windows(n):
    g = torch.Generator().manual_seed(6)
    for _ in range(n):
        y = torch.randint(0, 2, (16,), generator=g).float()
        yield torch.randn(16, 8, 12, generator=g) + y.view(-1, 1, 1), y
