"""Meta-Weight-Net: learn a loss -> weight map from a small clean set while
training a classifier on a set where 30% of the labels are flipped."""

from __future__ import annotations

import dataclasses
from typing import Iterator, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call


@dataclasses.dataclass(frozen=True)
class Settings:
    features: int = 5
    n_noisy: int = 96
    n_clean: int = 40
    noise_rate: float = 0.3
    batch_size: int = 32
    epochs: int = 10
    lr: float = 0.1
    meta_lr: float = 0.03
    seed: int = 5


class WeightNet(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, per_sample_loss: Tensor) -> Tensor:
        return torch.sigmoid(self.body(per_sample_loss.unsqueeze(1))).squeeze(1)


def make_data(s: Settings) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    direction = torch.randn(s.features)
    x_noisy = torch.randn(s.n_noisy, s.features)
    x_clean = torch.randn(s.n_clean, s.features)
    truth = (x_noisy @ direction > 0).long()
    flip = torch.rand(s.n_noisy) < s.noise_rate
    y_noisy = torch.where(flip, 1 - truth, truth)
    return x_noisy, y_noisy, flip, x_clean, (x_clean @ direction > 0).long()


def minibatches(x: Tensor, y: Tensor, size: int) -> Iterator[Tuple[Tensor, Tensor]]:
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


def normalised(w: Tensor) -> Tensor:
    return w / (w.sum() + 1e-8)


def virtual_step(classifier: nn.Module, weight_net: WeightNet, x: Tensor, y: Tensor, lr: float) -> dict[str, Tensor]:
    params = dict(classifier.named_parameters())
    costs = F.cross_entropy(functional_call(classifier, params, (x,)), y, reduction="none")
    weights = normalised(weight_net(costs.detach()))
    grads = torch.autograd.grad((weights * costs).sum(), list(params.values()), create_graph=True)
    return {name: p - lr * g for (name, p), g in zip(params.items(), grads)}


def main(s: Settings) -> None:
    torch.manual_seed(s.seed)
    x_noisy, y_noisy, flip, x_clean, y_clean = make_data(s)
    classifier = nn.Sequential(nn.Linear(s.features, 16), nn.ReLU(), nn.Linear(16, 2))
    weight_net = WeightNet()
    optimizer = torch.optim.SGD(classifier.parameters(), lr=s.lr, momentum=0.5)
    meta_optimizer = torch.optim.Adam(weight_net.parameters(), lr=s.meta_lr)

    meta_value = float("nan")
    for epoch in range(s.epochs):
        train_values: list[float] = []
        for x, y in minibatches(x_noisy, y_noisy, s.batch_size):
            # upper level: weights that would have helped on the clean set
            fast = virtual_step(classifier, weight_net, x, y, s.lr)
            meta_loss = F.cross_entropy(functional_call(classifier, fast, (x_clean,)), y_clean)
            meta_optimizer.zero_grad()
            meta_loss.backward(inputs=list(weight_net.parameters()))
            meta_optimizer.step()
            meta_value = meta_loss.item()

            # lower level: the real update with the new weights
            costs = F.cross_entropy(classifier(x), y, reduction="none")
            with torch.no_grad():
                weights = normalised(weight_net(costs))
            loss = (weights * costs).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_values.append(loss.item())
        print(f"epoch {epoch} weighted loss {sum(train_values) / len(train_values):.4f} clean loss {meta_value:.4f}")

    with torch.no_grad():
        costs = F.cross_entropy(classifier(x_noisy), y_noisy, reduction="none")
        w = weight_net(costs)
        print(f"mean weight: flipped {w[flip].mean():.4f}, correct {w[~flip].mean():.4f}")
    size = [sum(p.detach().abs().sum().item() for p in m.parameters()) for m in (classifier, weight_net)]
    print("RESULT", *("%.6g" % v for v in (*size, meta_value)))


if __name__ == "__main__":
    main(Settings())
