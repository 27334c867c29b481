import torch
from torch import nn


class CoordinatewiseLSTM(nn.Module):
    """One small LSTM shared by all coordinates of the optimizee."""

    def __init__(self, hidden=12, scale=0.1):
        super().__init__()
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)
        self.hidden = hidden
        self.scale = scale

    def initial_state(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    @staticmethod
    def preprocess(g, p=10.0):
        big = g.abs() >= torch.exp(torch.tensor(-p))
        log_part = torch.where(big, g.abs().clamp_min(1e-30).log() / p, torch.full_like(g, -1.0))
        sign_part = torch.where(big, g.sign(), g * torch.exp(torch.tensor(p)))
        return torch.stack([log_part, sign_part], dim=-1)

    def forward(self, g, state):
        h, c = self.cell(self.preprocess(g), state)
        return self.scale * self.out(h).squeeze(-1), (h, c)
