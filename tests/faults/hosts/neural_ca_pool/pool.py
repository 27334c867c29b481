import torch


def seed_state(size, channels):
    s = torch.zeros(channels, size, size)
    s[3:, size // 2, size // 2] = 1.0
    return s


def damage(state):
    size = state.shape[-1]
    y, x = torch.randint(0, size - 4, (2,)).tolist()
    hurt = state.clone()
    hurt[:, y:y + 4, x:x + 4] = 0
    return hurt


class SamplePool:
    def __init__(self, seed, n):
        self.seed = seed
        self.states = seed.repeat(n, 1, 1, 1)

    def sample(self, k):
        slots = torch.randperm(len(self.states))[:k]
        return slots, self.states[slots]

    def commit(self, slots, states):
        self.states[slots] = states.detach()
