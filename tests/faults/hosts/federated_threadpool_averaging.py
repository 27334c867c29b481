"""Federated averaging with a proximal term (FedProx). Clients train in threads of a pool; the server averages."""
from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


class Client:
    __slots__ = ("generator", "inputs", "name", "targets")

    def __init__(self, name: int) -> None:
        self.name = name
        self.generator = torch.Generator().manual_seed(100 + name)
        slope = 1.0 + 0.3 * name
        self.inputs = torch.randn(80, 4, generator=self.generator)
        self.targets = torch.sin(slope * self.inputs.sum(1, keepdim=True)) + 0.1 * name

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        for rows in torch.randperm(len(self.inputs), generator=self.generator).split(size):
            yield self.inputs[rows], self.targets[rows]

    def train(self, received: nn.Module, epochs: int = 2, mu: float = 0.05) -> tuple[State, float]:
        local = copy.deepcopy(received)
        anchor = [p.detach().clone() for p in received.parameters()]
        sgd = torch.optim.SGD(local.parameters(), lr=0.05, momentum=0.9)
        total, count = 0.0, 0
        for _ in range(epochs):
            for x, y in self.batches(20):
                fit = nn.functional.mse_loss(local(x), y)
                drift = sum((p - a).square().sum() for p, a in zip(local.parameters(), anchor, strict=True))
                objective = fit + 0.5 * mu * drift
                sgd.zero_grad()
                objective.backward()
                sgd.step()
                total, count = total + fit.item(), count + 1
        return local.state_dict(), total / count


class Server:
    def __init__(self, clients: list[Client]) -> None:
        torch.manual_seed(77)
        self.model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
        self.clients = clients
        self.rounds: list[float] = []

    def round(self, pool: ThreadPoolExecutor) -> float:
        answers = list(pool.map(lambda c: c.train(self.model), self.clients))
        states = [state for state, _ in answers]
        merged = {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}
        self.model.load_state_dict(merged)
        self.rounds.append(sum(loss for _, loss in answers) / len(answers))
        return self.rounds[-1]

    @torch.no_grad()
    def evaluate(self) -> list[float]:
        return [nn.functional.mse_loss(self.model(c.inputs), c.targets).item() for c in self.clients]


if __name__ == "__main__":
    server = Server([Client(n) for n in range(3)])
    with ThreadPoolExecutor(max_workers=1) as pool:
        for number in range(4):
            print(f"round {number}: local loss {server.round(pool):.4f}")
    errors = server.evaluate()
    norm = sum(p.detach().abs().sum().item() for p in server.model.parameters())
    print("RESULT", " ".join(f"{v:.6g}" for v in [norm, *server.rounds[-2:], *errors]))
