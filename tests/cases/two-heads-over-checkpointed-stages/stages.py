import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv1d(width, width, 3, padding=1)
        self.b = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))
