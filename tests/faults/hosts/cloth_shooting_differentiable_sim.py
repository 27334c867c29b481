"""A hanging chain of masses and springs is steered to a target by a small network; gradients go through the simulator."""
import math
from typing import Final, TypedDict

import torch
from torch import Tensor, nn

MASSES: Final = 6
DT: Final = 0.06
REST: Final = 0.2


class Chain(TypedDict):
    x: Tensor
    v: Tensor


def hanging(batch: int) -> Chain:
    y = -REST * torch.arange(MASSES, dtype=torch.float).expand(batch, MASSES)
    x = torch.stack([0.02 * torch.randn(batch, MASSES), y], dim=-1)
    return Chain(x=x, v=torch.zeros_like(x))


def forces(chain: Chain, stiffness: float, damping: float) -> Tensor:
    gap = chain["x"][:, 1:] - chain["x"][:, :-1]
    length = gap.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    pull = stiffness * (length - REST) * gap / length
    total = -damping * chain["v"] + torch.tensor([0.0, -0.5])
    total = total + nn.functional.pad(pull, (0, 0, 0, 1)) - nn.functional.pad(pull, (0, 0, 1, 0))
    return total


def advance(chain: Chain, push: Tensor, stiffness: float = 30.0, damping: float = 0.6) -> Chain:
    """Semi-implicit Euler; the head of the chain goes where it is pushed."""
    v = chain["v"] + DT * forces(chain, stiffness, damping)
    v = torch.cat([push.unsqueeze(1), v[:, 1:]], dim=1)
    return Chain(x=chain["x"] + DT * v, v=v)


class Controller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4 * MASSES + 2, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.zeros_(self.body[-1].weight)

    def forward(self, chain: Chain, goal: Tensor) -> Tensor:
        seen = torch.cat([chain["x"].flatten(1), chain["v"].flatten(1), goal], dim=1)
        return 1.5 * torch.tanh(self.body(seen))


def episode(controller: Controller, batch: int, steps: int) -> tuple[Tensor, Tensor]:
    goal = torch.tensor([0.4, -1.0]) + 0.1 * torch.randn(batch, 2)
    chain, effort = hanging(batch), torch.zeros(())
    for _ in range(steps):
        push = controller(chain, goal)
        chain = advance(chain, push)
        effort = effort + push.square().mean() / steps
    return (chain["x"][:, -1] - goal).norm(dim=1).mean(), effort


def main() -> None:
    torch.manual_seed(271)
    controller = Controller()
    optimizer = torch.optim.Adam(controller.parameters(), lr=1e-2)
    misses: list[float] = []
    horizon = 10
    while len(misses) < 24:
        miss, effort = episode(controller, batch=8, steps=horizon)
        optimizer.zero_grad()
        (miss + 0.01 * effort).backward()
        norm = nn.utils.clip_grad_norm_(controller.parameters(), 1.0)
        if math.isfinite(norm.item()):
            optimizer.step()
        misses.append(miss.item())
        if len(misses) % 8 == 0:
            print(f"episode {len(misses):2d}  horizon {horizon}  miss {misses[-1]:.4f}  effort {effort.item():.4f}")
            horizon += 5
    with torch.no_grad():
        miss, effort = episode(controller, batch=32, steps=25)
    print(f"RESULT {misses[-1]:.6g} {miss:.6g} {effort:.6g} {controller.body[0].weight.abs().sum():.6g}")


if __name__ == "__main__":
    main()
