import torch.nn as nn

from registry import HEADS


class SharedBottom(nn.Module):
    def __init__(self, d_in, width, tasks):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(d_in, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.towers = nn.ModuleDict({name: HEADS[kind](width) for name, kind in tasks.items()})

    def forward(self, x):
        shared = self.bottom(x)
        return {name: tower(shared) for name, tower in self.towers.items()}
