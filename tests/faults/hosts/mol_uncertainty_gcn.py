import math
import random
from dataclasses import dataclass, field
from typing import List

import torch
from torch import nn


@dataclass
class Molecule:
    atoms: torch.Tensor        # (n,) element ids
    bonds: torch.Tensor        # (2, e) both directions
    props: torch.Tensor        # (3,) property labels

    @property
    def num_atoms(self):
        return len(self.atoms)


@dataclass
class Batch:
    atoms: torch.Tensor
    bonds: torch.Tensor
    owner: torch.Tensor
    props: torch.Tensor

    @classmethod
    def collate(cls, mols: List[Molecule]) -> "Batch":
        shift, atoms, bonds, owner = 0, [], [], []
        for m, mol in enumerate(mols):
            atoms.append(mol.atoms)
            bonds.append(mol.bonds + shift)
            owner.append(torch.full((mol.num_atoms,), m))
            shift += mol.num_atoms
        return cls(torch.cat(atoms), torch.cat(bonds, 1), torch.cat(owner), torch.stack([m.props for m in mols]))


def random_molecule() -> Molecule:
    n = random.randint(4, 9)
    atoms = torch.tensor([random.choice([0, 0, 0, 1, 2, 3]) for _ in range(n)])
    pairs = [(i, random.randrange(i)) for i in range(1, n)]
    if random.random() < 0.5:
        pairs.append((n - 1, 0))
    bonds = torch.tensor([p for a, b in pairs for p in ((a, b), (b, a))]).T
    weight = torch.tensor([12.0, 14.0, 16.0, 19.0])[atoms].sum() / 100
    hetero = (atoms > 0).float().sum() / n + 0.2 * torch.randn(())
    rings = torch.tensor(float(len(pairs) - n + 1)) + 0.05 * torch.randn(())
    return Molecule(atoms, bonds, torch.stack([weight, hetero, rings]))


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(dim, dim, bias=False)
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, bonds):
        src, dst = bonds
        inbox = torch.zeros_like(h).index_add(0, dst, torch.relu(self.message(h))[src])
        return self.update(inbox, h)


class PropertyNet(nn.Module):
    def __init__(self, dim=16, rounds=2, n_props=3):
        super().__init__()
        self.embed = nn.Embedding(4, dim)
        self.layers = nn.ModuleList([MessagePassing(dim) for _ in range(rounds)])
        self.readout = nn.Linear(2 * dim, n_props)

    def forward(self, b: Batch):
        h = self.embed(b.atoms)
        for layer in self.layers:
            h = layer(h, b.bonds)
        n = len(b.props)
        total = torch.zeros(n, h.size(1)).index_add(0, b.owner, h)
        count = torch.bincount(b.owner, minlength=n).unsqueeze(1)
        return self.readout(torch.cat([total / 8, total / count], 1))


@dataclass
class UncertaintyWeighting:
    """Kendall & Gal: sum_i exp(-s_i) L_i + s_i / 2"""
    n: int
    log_vars: nn.Parameter = field(init=False)

    def __post_init__(self):
        self.log_vars = nn.Parameter(torch.zeros(self.n))

    def __call__(self, losses):
        return (0.5 * torch.exp(-self.log_vars) * losses + 0.5 * self.log_vars).sum()


def main():
    random.seed(6)
    torch.manual_seed(6)
    train = [random_molecule() for _ in range(48)]
    test = Batch.collate([random_molecule() for _ in range(16)])
    net, weighting = PropertyNet(), UncertaintyWeighting(3)
    optimizer = torch.optim.Adam([
        {"params": net.parameters(), "lr": 1e-2},
        {"params": [weighting.log_vars], "lr": 5e-2},
    ])
    objective_log = []
    for epoch in range(10):
        random.shuffle(train)
        for start in range(0, len(train), 16):
            batch = Batch.collate(train[start:start + 16])
            per_task = (net(batch) - batch.props).pow(2).mean(0)
            objective = weighting(per_task)
            optimizer.zero_grad()
            objective.backward()
            nn.utils.clip_grad_value_(net.parameters(), 1.0)
            optimizer.step()
            objective_log.append(objective.item())
        if epoch % 3 == 0:
            sigmas = [math.exp(0.5 * s) for s in weighting.log_vars.tolist()]
            print(f"epoch {epoch} objective {objective_log[-1]:+.4f} sigmas " + " ".join(f"{s:.3f}" for s in sigmas))
    net.eval()
    with torch.no_grad():
        mae = (net(test) - test.props).abs().mean(0)
    print("test MAE", [round(v, 4) for v in mae.tolist()])
    print("RESULT %.6g %.6g %.6g %.6g" % (
        sum(p.abs().sum().item() for p in net.parameters()), weighting.log_vars.sum().item(), objective_log[-1], mae.sum().item()))


if __name__ == "__main__":
    main()
