from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
import torch.nn.functional as F


@dataclass(frozen=True)
class MoEConfig:
    input_dim: int = 8
    model_dim: int = 16
    num_experts: int = 4
    top_k: int = 2
    num_layers: int = 2
    num_classes: int = 4
    balance_coefficient: float = 0.02
    z_coefficient: float = 1e-3
    load_momentum: float = 0.9


class Expert(nn.Sequential):
    def __init__(self, dim: int) -> None:
        super().__init__(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))


class SparseMoELayer(nn.Module):
    """Top-k routed mixture of experts; keeps the auxiliary terms of the latest forward pass."""

    average_load: Tensor

    def __init__(self, config: MoEConfig) -> None:
        super().__init__()
        self.config = config
        self.router = nn.Linear(config.model_dim, config.num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(config.model_dim) for _ in range(config.num_experts))
        self.register_buffer("average_load", torch.full((config.num_experts,), 1.0 / config.num_experts))
        self.balance_loss: Tensor | None = None
        self.z_loss: Tensor | None = None

    def forward(self, tokens: Tensor) -> Tensor:
        router_logits = self.router(tokens)
        probabilities = router_logits.softmax(dim=-1)
        top_probabilities, top_indices = probabilities.topk(self.config.top_k, dim=-1)
        top_probabilities = top_probabilities / top_probabilities.sum(dim=-1, keepdim=True)

        output = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            rows, slots = (top_indices == index).nonzero(as_tuple=True)
            weighted = expert(tokens[rows]) * top_probabilities[rows, slots].unsqueeze(-1)
            output = output.index_add(0, rows, weighted)

        assignment = F.one_hot(top_indices, self.config.num_experts).float().mean(dim=(0, 1))
        self.balance_loss = self.config.num_experts * (assignment * probabilities.mean(dim=0)).sum()
        self.z_loss = router_logits.logsumexp(dim=-1).square().mean()
        if self.training:
            self.average_load.lerp_(assignment, 1.0 - self.config.load_momentum)
        return output


class MoEClassifier(nn.Module):
    def __init__(self, config: MoEConfig) -> None:
        super().__init__()
        self.stem = nn.Linear(config.input_dim, config.model_dim)
        self.norms = nn.ModuleList(nn.LayerNorm(config.model_dim) for _ in range(config.num_layers))
        self.layers = nn.ModuleList(SparseMoELayer(config) for _ in range(config.num_layers))
        self.classifier = nn.Linear(config.model_dim, config.num_classes)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.stem(inputs)
        for norm, layer in zip(self.norms, self.layers):
            hidden = hidden + layer(norm(hidden))
        return self.classifier(hidden)

    def auxiliary(self, config: MoEConfig) -> Tensor:
        terms = [config.balance_coefficient * l.balance_loss + config.z_coefficient * l.z_loss for l in self.layers]
        return torch.stack(terms).sum()


def synthetic_task(config: MoEConfig, count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, config.input_dim, generator=generator)
    labels = 2 * (inputs[:, 0] * inputs[:, 1] > 0).long() + (inputs[:, 2] > inputs[:, 3].abs() - 0.5).long()
    return inputs, labels


def train(config: MoEConfig) -> tuple[MoEClassifier, list[float]]:
    inputs, labels = synthetic_task(config, 192, seed=11)
    model = MoEClassifier(config)
    routers = [p for name, p in model.named_parameters() if "router" in name]
    others = [p for name, p in model.named_parameters() if "router" not in name]
    optimizer = torch.optim.Adam([{"params": others, "lr": 1e-2}, {"params": routers, "lr": 3e-3}])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=24)
    losses: list[float] = []
    for epoch in range(8):
        for rows in torch.randperm(len(inputs)).chunk(3):
            logits = model(inputs[rows])
            task_loss = F.cross_entropy(logits, labels[rows], label_smoothing=0.05)
            auxiliary_loss = model.auxiliary(config)
            optimizer.zero_grad()
            (task_loss + auxiliary_loss).backward()
            optimizer.step()
            scheduler.step()
            losses.append(task_loss.item())
        if epoch % 2 == 1:
            load = " ".join(f"{v:.2f}" for v in model.layers[0].average_load.tolist())
            print(f"epoch {epoch}  task {losses[-1]:.4f}  aux {auxiliary_loss.item():.4f}  load [{load}]")
    return model, losses


def evaluate(model: MoEClassifier, config: MoEConfig) -> float:
    inputs, labels = synthetic_task(config, 128, seed=12)
    model.eval()
    with torch.no_grad():
        return (model(inputs).argmax(dim=-1) == labels).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(3)
    configuration = MoEConfig()
    trained, curve = train(configuration)
    print(f"held-out accuracy {evaluate(trained, configuration):.3f}")
    experts = sum(p.abs().sum().item() for n, p in trained.named_parameters() if "experts" in n)
    rest = sum(p.abs().sum().item() for n, p in trained.named_parameters() if "experts" not in n)
    print(f"RESULT {experts:.6g} {rest:.6g} {curve[-1]:.6g}")
