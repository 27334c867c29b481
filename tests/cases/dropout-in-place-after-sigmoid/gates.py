import torch
from torch import nn


class GatedBlock(nn.Module):
    def __init__(self, width, inplace=False):
        super().__init__()
        self.value = nn.Linear(width, width)
        self.gate = nn.Sequential(nn.Linear(width, width), nn.Sigmoid(), nn.Dropout(0.1, inplace=inplace))

    def forward(self, x):
        return x + self.value(x) * self.gate(x)
