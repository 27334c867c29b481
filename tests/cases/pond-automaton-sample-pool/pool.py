import torch


class SamplePool:
    def __init__(self, blank, size, rng):
        self.slots = [blank.clone() for _ in range(size)]
        self.rng = rng

    def draw(self, n):
        index = self.rng.sample(range(len(self.slots)), n)
        return index, torch.stack([self.slots[i] for i in index])

    def commit(self, index, grids):
        for i, grid in zip(index, grids):
            self.slots[i] = grid
