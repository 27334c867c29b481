import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class CellularAutomaton(nn.Module):
    def __init__(self, channels, hidden, fire_rate=0.5):
        super().__init__()
        self.channels, self.fire_rate = channels, fire_rate
        sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8
        identity = torch.zeros(3, 3)
        identity[1, 1] = 1
        kernels = torch.stack([identity, sobel, sobel.T]).repeat(channels, 1, 1).unsqueeze(1)
        self.register_buffer("kernels", kernels)
        self.rule = nn.Sequential(nn.Conv2d(3 * channels, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, channels, 1, bias=False))
        nn.init.normal_(self.rule[-1].weight, std=0.02)

    def alive(self, state):
        return F.max_pool2d(state[:, 3:4], 3, stride=1, padding=1) > 0.1

    def forward(self, state):
        before = self.alive(state)
        seen = F.conv2d(state, self.kernels, padding=1, groups=self.channels)
        fire = (torch.rand_like(state[:, :1]) < self.fire_rate).float()
        state = state + self.rule(seen) * fire
        return state * (before & self.alive(state)).float()

    def several(self, state, n):
        for _ in range(n):
            state = self(state)
        return state

    def run(self, state, n, segment=4):
        """n updates, keeping activations only at segment borders"""
        while n > 0:
            k = min(segment, n)
            state = checkpoint(self.several, state, k, use_reentrant=False)
            n -= k
        return state
