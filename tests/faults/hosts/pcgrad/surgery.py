import random
from typing import Dict, List, Sequence

import torch


class PCGrad:
    """Projecting conflicting gradients (Yu et al. 2020), wrapped around any optimizer."""

    def __init__(self, optimizer: torch.optim.Optimizer, seed: int = 0):
        self._optim = optimizer
        self._rng = random.Random(seed)
        self.conflicts = 0

    @property
    def params(self) -> List[torch.Tensor]:
        return [p for g in self._optim.param_groups for p in g["params"]]

    def zero_grad(self):
        self._optim.zero_grad(set_to_none=True)

    def step(self):
        self._optim.step()

    def pc_backward(self, objectives: Sequence[torch.Tensor]) -> None:
        flat, touched = [], []
        last = len(objectives) - 1
        for i, objective in enumerate(objectives):
            grads = torch.autograd.grad(objective, self.params, retain_graph=i < last, allow_unused=True)
            touched.append([g is not None for g in grads])
            flat.append(torch.cat([
                (g if g is not None else torch.zeros_like(p)).reshape(-1) for g, p in zip(grads, self.params)
            ]))
        merged = self._project(flat)
        self._write(merged, touched)

    def _project(self, grads: List[torch.Tensor]) -> torch.Tensor:
        projected = []
        for i, g in enumerate(grads):
            g = g.clone()
            others = [j for j in range(len(grads)) if j != i]
            self._rng.shuffle(others)
            for j in others:
                dot = torch.dot(g, grads[j])
                if dot < 0:
                    self.conflicts += 1
                    g -= dot / grads[j].norm().square() * grads[j]
            projected.append(g)
        return torch.stack(projected).sum(0)

    def _write(self, merged, touched):
        offset = 0
        for k, p in enumerate(self.params):
            n = p.numel()
            if any(row[k] for row in touched):
                p.grad = merged[offset:offset + n].view_as(p).clone()
            offset += n

    def stats(self) -> Dict[str, float]:
        return {"conflicts": float(self.conflicts)}
