import torch
import torch.nn.functional as F
from torch import nn


def seed_grid(channels, side):
    grid = torch.zeros(channels, side, side)
    grid[3:, side // 2, side // 2] = 1.0
    return grid


class CellRule(nn.Module):
    """Each cell looks at its neighbourhood with fixed filters and adds a small learned change."""

    def __init__(self, channels, hidden=24):
        super().__init__()
        identity = torch.tensor([[0.0, 0, 0], [0, 1, 0], [0, 0, 0]])
        dx = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
        filters = torch.stack([identity, dx, dx.t()])
        self.register_buffer("filters", filters.repeat(channels, 1, 1)[:, None])
        self.channels = channels
        self.hidden = nn.Conv2d(channels * 3, hidden, 1)
        self.change = nn.Conv2d(hidden, channels, 1, bias=False)
        nn.init.normal_(self.change.weight, std=0.02)

    def forward(self, grids):
        alive = F.max_pool2d(grids[:, 3:4], 3, stride=1, padding=1) > 0.1
        seen = F.conv2d(grids, self.filters, padding=1, groups=self.channels)
        delta = self.change(F.relu(self.hidden(seen)))
        fire = (torch.rand_like(grids[:, :1]) < 0.7).float()
        return (grids + delta * fire) * alive.float()
