import math

import torch


class Helmert:
    """Fits scale, angle and shift between two sets of survey points."""

    def __init__(self):
        self.scale = torch.ones((), requires_grad=True)
        self.angle = torch.zeros((), requires_grad=True)
        self.shift = torch.zeros(2, requires_grad=True)

    def unknowns(self):
        return [self.scale, self.angle, self.shift]

    def __call__(self, points):
        c, s = torch.cos(self.angle), torch.sin(self.angle)
        turn = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])
        return self.scale * points @ turn.T + self.shift


def adjust(model, source, target, rounds):
    solver = torch.optim.LBFGS(model.unknowns(), lr=0.3, max_iter=5)

    def evaluate():
        residual = model(source) - target
        cost = residual.square().sum(-1).mean()
        cost.backward()
        return cost

    for _ in range(rounds):
        cost = solver.step(evaluate)
    return float(cost)


torch.manual_seed(14)
source = torch.randn(25, 2)
angle = 0.4
turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
target = 1.2 * source @ turn.T + torch.tensor([0.5, -0.3]) + 0.01 * torch.randn(25, 2)
model = Helmert()
print(f"RESULT {adjust(model, source, target, 6):.6g} {model.scale.item():.5f} {model.angle.item():.5f}")
