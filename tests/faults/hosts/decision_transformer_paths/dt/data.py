from dataclasses import dataclass, field

import torch
from torch.utils.data import Dataset


@dataclass
class Walks(Dataset):
    """Random walks on a ring with chords; every step costs one until the goal is reached."""

    count: int
    length: int
    seed: int
    nodes: int = 8
    goal: int = 5
    items: list = field(default_factory=list, repr=False)

    def __post_init__(self):
        g = torch.Generator().manual_seed(self.seed)
        neighbours = [{(n + 1) % self.nodes, (n - 1) % self.nodes, (n * 3) % self.nodes} for n in range(self.nodes)]
        self.edges = torch.zeros(self.nodes, self.nodes, dtype=torch.bool)
        for n, some in enumerate(neighbours):
            self.edges[n, list(some)] = True
        for _ in range(self.count):
            state = int(torch.randint(self.nodes, (), generator=g))
            states, actions = [], []
            for _ in range(self.length):
                options = self.edges[state].nonzero().flatten()
                action = int(options[torch.randint(len(options), (), generator=g)])
                states.append(state)
                actions.append(action)
                state = action if state != self.goal else state
            cost = torch.tensor([0.0 if s == self.goal else -1.0 for s in states])
            to_go = cost.flip(0).cumsum(0).flip(0)
            self.items.append((to_go, torch.tensor(states), torch.tensor(actions)))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.items[index]
