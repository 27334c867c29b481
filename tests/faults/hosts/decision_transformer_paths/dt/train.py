from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader


@dataclass(kw_only=True)
class TrainerConfig:
    epochs: int
    batch_size: int
    warmup: int
    lr: float = 3e-3
    clip: float = 0.5


class Trainer:
    def __init__(self, agent, data, config: TrainerConfig) -> None:
        self.agent, self.config = agent, config
        self.loader = DataLoader(data, config.batch_size, shuffle=True, drop_last=True)
        decay = [p for p in agent.parameters() if p.dim() > 1]
        other = [p for p in agent.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW([{"params": decay}, {"params": other, "weight_decay": 0.0}], lr=config.lr)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda k: min(1.0, (k + 1) / config.warmup)
        )
        self.losses: list[float] = []

    def step(self, to_go, states, actions) -> float:
        logits = self.agent(to_go, states, actions)
        loss = cross_entropy(logits.flatten(0, 1), actions.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.agent.parameters(), self.config.clip)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def epochs(self) -> Iterator[tuple[int, float]]:
        for epoch in range(self.config.epochs):
            self.losses.append(fmean(self.step(*batch) for batch in self.loader))
            yield epoch, self.losses[-1]
