import random
from collections import deque
from dataclasses import dataclass

import torch


@dataclass
class Transition:
    obs: torch.Tensor
    action: int
    logp: torch.Tensor
    reward: float


class Memory:
    def __init__(self, size, seed):
        self.items = deque(maxlen=size)
        self.rng = random.Random(seed)

    def push(self, *fields):
        self.items.append(Transition(*fields))

    def sample(self, n):
        return self.rng.sample(list(self.items), n)

    def __len__(self):
        return len(self.items)
