"""Two sensors report at their own pace; a recurrent tracker fuses what arrives and learns online (asyncio)."""
import asyncio
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

torch.manual_seed(909)


@dataclass
class Reading:
    tick: int
    source: int
    value: Tensor


class Tracker(nn.Module):
    def __init__(self, hidden: int = 12) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, 4)
        self.core = nn.GRUCell(6, hidden)
        self.head = nn.Linear(hidden, 2)

    def forward(self, reading: Reading, memory: Tensor) -> tuple[Tensor, Tensor]:
        kind = self.embed(torch.tensor([reading.source]))
        memory = self.core(torch.cat([reading.value.view(1, 2), kind], dim=1), memory)
        return self.head(memory), memory


def truth(tick: int) -> Tensor:
    a = 0.15 * tick
    return torch.tensor([[math.cos(a), math.sin(2 * a)]])


async def sensor(source: int, every: int, noise: float, last: int, queue: asyncio.Queue) -> None:
    generator = torch.Generator().manual_seed(source)
    for tick in range(source, last, every):
        value = truth(tick)[0] + noise * torch.randn(2, generator=generator)
        await queue.put(Reading(tick, source, value))
    await queue.put(None)


async def learn(queue: asyncio.Queue, sensors: int, window: int = 8) -> tuple[Tracker, list[float]]:
    tracker = Tracker()
    optimizer = torch.optim.Adam(tracker.parameters(), lr=8e-3)
    memory = torch.zeros(1, 12)
    history, errors = [], []
    while sensors:
        reading = await queue.get()
        if reading is None:
            sensors -= 1
            continue
        estimate, memory = tracker(reading, memory)
        errors.append((estimate - truth(reading.tick)).square().mean())
        if len(errors) == window:
            optimizer.zero_grad()
            loss = torch.stack(errors).mean()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            errors.clear()
            memory = memory.detach()
    return tracker, history


async def main() -> None:
    queue: asyncio.Queue = asyncio.Queue(maxsize=3)
    learner = asyncio.create_task(learn(queue, sensors=2))
    await asyncio.gather(sensor(0, 1, 0.05, 220, queue), sensor(1, 3, 0.2, 220, queue))
    tracker, history = await learner
    print(f"{len(history)} updates, first {history[0]:.4f}, last {history[-1]:.4f}")
    weights = sum(p.detach().abs().sum().item() for p in tracker.parameters())
    print(f"RESULT {weights:.6g} {history[0]:.6g} {history[-1]:.6g} {sum(history):.6g}")


asyncio.run(main())
