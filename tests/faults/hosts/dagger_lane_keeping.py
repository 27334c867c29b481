import copy
import math

import numpy as np
import torch
from torch import nn


class Road:
    """Kinematic car on a winding road. state = lateral offset, heading error, curvature ahead."""

    DT = 0.2

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s, self.offset, self.heading = 0.0, self.rng.uniform(-0.8, 0.8), self.rng.uniform(-0.2, 0.2)
        self.phase = self.rng.uniform(0, 2 * math.pi)
        return self.observe()

    def curvature(self, s):
        return 0.3 * math.sin(0.5 * s + self.phase)

    def observe(self):
        ahead = [self.curvature(self.s + d) for d in (0.0, 1.0, 2.0)]
        return torch.tensor([self.offset, self.heading, *ahead], dtype=torch.float32)

    def step(self, steer):
        steer = float(np.clip(steer, -1, 1))
        self.heading += self.DT * (steer - self.curvature(self.s)) + self.rng.normal(0, 0.01)
        self.offset += self.DT * 2.0 * math.sin(self.heading)
        self.s += self.DT * 2.0
        return self.observe(), abs(self.offset) > 2.0


def expert(obs):
    offset, heading, k0, k1, _ = obs.tolist()
    return max(-1.0, min(1.0, -0.8 * offset - 1.6 * heading + 0.7 * k0 + 0.3 * k1))


class SteeringNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 24), nn.LeakyReLU(), nn.Linear(24, 24), nn.LeakyReLU(), nn.Linear(24, 2))

    def forward(self, obs):
        mean, log_var = self.net(obs).unbind(-1)
        return torch.tanh(mean), log_var.clamp(-6, 2)


class Dagger:
    micro_batches = 4

    def __init__(self, seed=14):
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.learner = SteeringNet()
        self.averaged = copy.deepcopy(self.learner).requires_grad_(False)
        self.opt = torch.optim.SGD(self.learner.parameters(), lr=0.08, momentum=0.9)
        self.observations, self.labels = [], []
        self.road = Road(seed + 1)

    @torch.no_grad()
    def drive(self, net, steps, beta=0.0, record=True):
        obs, err = self.road.reset(), 0.0
        for _ in range(steps):
            wish = expert(obs)
            mine = net(obs)[0].item()
            if record:
                self.observations.append(obs)
                self.labels.append(wish)
            obs, crashed = self.road.step(wish if self.rng.random() < beta else mine)
            err += abs(self.road.offset)
            if crashed:
                obs = self.road.reset()
        return err / steps

    def fit(self, updates, micro_size=16):
        x, y = torch.stack(self.observations), torch.tensor(self.labels)
        losses = []
        for _ in range(updates):
            self.opt.zero_grad()
            total = 0.0
            for _ in range(self.micro_batches):
                idx = torch.from_numpy(self.rng.integers(0, len(x), micro_size))
                mean, log_var = self.learner(x[idx])
                nll = 0.5 * (log_var + (y[idx] - mean) ** 2 / log_var.exp()).mean()
                (nll / self.micro_batches).backward()
                total += nll.item() / self.micro_batches
            nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
            self.opt.step()
            with torch.no_grad():
                for slow, fast in zip(self.averaged.parameters(), self.learner.parameters()):
                    slow.lerp_(fast, 0.15)
            losses.append(total)
        return losses


dagger = Dagger()
curve = []
for round_ in range(4):
    beta = 0.5 ** round_
    dagger.drive(dagger.averaged, 60, beta)
    curve += dagger.fit(9)
    drift = dagger.drive(dagger.averaged, 60, record=False)
    print(f"round {round_}: {len(dagger.labels)} labels, beta {beta:.3f}, nll {curve[-1]:+.4f}, mean drift {drift:.4f}")

print("RESULT", "%.6g" % sum(p.abs().sum().item() for p in dagger.learner.parameters()),
      "%.6g" % sum(p.abs().sum().item() for p in dagger.averaged.parameters()),
      "%.6g" % curve[-1], "%.6g" % drift)
