import torch


class Chase:
    """Two predators and one prey as points on a square. Continuous steering."""
    names = ["wolf_a", "wolf_b", "hare"]

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.pos = torch.rand(3, 2, generator=self.rng) * 2 - 1
        self.t = 0
        return self._views()

    def _views(self):
        return {n: torch.cat([self.pos[i], (self.pos - self.pos[i]).roll(-i, 0)[1:].flatten()])
                for i, n in enumerate(self.names)}

    def step(self, actions):
        speed = torch.tensor([0.2, 0.2, 0.26]).unsqueeze(1)
        self.pos = (self.pos + speed * torch.stack([actions[n] for n in self.names])).clamp(-1, 1)
        self.t += 1
        gaps = (self.pos[:2] - self.pos[2]).norm(dim=1)
        closest = gaps.min()
        rewards = {"wolf_a": -gaps[0] - 0.5 * closest, "wolf_b": -gaps[1] - 0.5 * closest, "hare": closest}
        return self._views(), rewards, self.t >= 15
