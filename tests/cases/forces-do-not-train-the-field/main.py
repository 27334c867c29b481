import torch
from torch import nn


class PairPotential(nn.Module):
    def __init__(self, centers=8):
        super().__init__()
        self.register_buffer("mu", torch.linspace(0.5, 3.0, centers))
        self.mlp = nn.Sequential(nn.Linear(centers, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, pos):
        i, j = torch.triu_indices(pos.size(1), pos.size(1), 1)
        r = (pos[:, i] - pos[:, j]).norm(dim=-1, keepdim=True)
        return self.mlp(torch.exp(-4 * (r - self.mu).square())).sum((1, 2))


def reference(pos):
    pos = pos.clone().requires_grad_(True)
    i, j = torch.triu_indices(pos.size(1), pos.size(1), 1)
    r = (pos[:, i] - pos[:, j]).norm(dim=-1)
    energy = ((r - 1.5).square() * torch.exp(-r)).sum(1)
    force = -torch.autograd.grad(energy.sum(), pos)[0]
    return energy.detach(), force


class ForceField:
    def __init__(self, model, weight=0.9, lr=1e-3):
        self.model, self.weight = model, weight
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def predict(self, pos):
        pos.requires_grad_(True)
        energy = self.model(pos)
        forces = -torch.autograd.grad(energy.sum(), pos, retain_graph=True)[0]
        return energy, forces

    def step(self, pos, e_ref, f_ref):
        energy, forces = self.predict(pos)
        e_loss = (energy - e_ref).square().mean()
        f_loss = (forces - f_ref).square().mean()
        loss = (1 - self.weight) * e_loss + self.weight * f_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return e_loss.item(), f_loss.item()


torch.manual_seed(83)
field = ForceField(PairPotential())
for _ in range(40):
    pos = torch.randn(8, 4, 3)
    e_loss, f_loss = field.step(pos, *reference(pos))
print(f"RESULT {e_loss:.6g} {f_loss:.6g}")
