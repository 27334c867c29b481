import math
import torch


class ArmBatch:
    """N planar two-link arms stepped together; reward is minus the distance of the tip to a target."""

    def __init__(self, n, horizon=12, generator=None):
        self.n, self.horizon, self.gen = n, horizon, generator
        self.obs_dim, self.act_dim = 6, 2

    def reset(self):
        self.q = 0.3 * torch.randn(self.n, 2, generator=self.gen)
        angle = 2 * math.pi * torch.rand(self.n, generator=self.gen)
        radius = 0.6 + 1.0 * torch.rand(self.n, generator=self.gen)
        self.goal = torch.stack([radius * angle.cos(), radius * angle.sin()], -1)
        self.t = 0
        return self.observe()

    def tip(self):
        a, b = self.q[:, 0], self.q[:, 0] + self.q[:, 1]
        return torch.stack([a.cos() + b.cos(), a.sin() + b.sin()], -1)

    def observe(self):
        return torch.cat([self.q.cos(), self.q.sin(), self.goal], -1)

    def step(self, torque):
        self.q = self.q + 0.4 * torque.clamp(-1, 1)
        self.t += 1
        reward = -(self.tip() - self.goal).norm(dim=-1) - 0.01 * torque.pow(2).sum(-1)
        done = self.t >= self.horizon
        return self.observe(), reward, done
