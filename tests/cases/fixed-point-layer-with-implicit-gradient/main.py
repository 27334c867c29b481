import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, z, x):
        return self.norm(torch.tanh(0.5 * self.inner(z) + x))


class FixedPoint(nn.Module):
    def __init__(self, cell, rounds=25):
        super().__init__()
        self.cell, self.rounds = cell, rounds

    def solve(self, f, z):
        for _ in range(self.rounds):
            z = f(z)
        return z

    def forward(self, x):
        with torch.no_grad():
            z = self.solve(lambda z: self.cell(z, x), torch.zeros_like(x))
        z = self.cell(z, x)
        if not self.training:
            return z
        z0 = z.clone().detach().requires_grad_()
        f0 = self.cell(z0, x)

        def implicit(grad):
            return self.solve(lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad)

        z.register_hook(implicit)
        return z


torch.manual_seed(64)
model = nn.Sequential(nn.Linear(6, 16), FixedPoint(Cell(16)), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.5f}")
