# SPDX-License-Identifier: BSD-3-Clause
"""Small models, each with one habit that makes keeping hard."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

numpy = pytest.importorskip("numpy")
WIDTH = 8


def stack(block: Any, depth: int = 3) -> nn.Module:
    return Stack([block() for _ in range(depth)])


class Stack(nn.Module):
    """Blocks between two layers that belong to no block."""

    def __init__(self, blocks: list[nn.Module]) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.ModuleList(blocks)
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.first(x))
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Dropped(Plain):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(super().forward(x), 0.4, self.training)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, 0.2, batch_first=True, norm_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.unsqueeze(0)).squeeze(0)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x.unsqueeze(1))[0].squeeze(1)


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros_like(x)
        for _ in range(3):
            h = self.cell(x, h)
        return h


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.conv(x.unsqueeze(1)))).mean(1)


class Spectral(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))


class OldSpectral(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.spectral_norm(nn.Linear(WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        y.mul_(0.5)
        y[:, 0] = torch.sigmoid(x[:, 1])
        return torch.relu_(y) + x


class Mutating(Plain):
    """Writes to its argument: cannot be run again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * 1.0 if x.is_leaf else x
        y = super().forward(x)
        with torch.no_grad():
            pass
        return y.add_(1.0)


class Lucky(Plain):
    """Leaves itself out at random, by Python's and NumPy's dice."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if random.random() < 0.3:
            return torch.sin(x) * numpy.random.rand()
        return super().forward(x) * float(numpy.random.rand())


class Counting(Plain):
    """Has state in plain attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.trail: list[int] = []
        self.feature: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.trail.append(self.calls)
        y = super().forward(x) * self.calls
        self.feature = y.detach()
        return y + len(self.trail)


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        (again,) = ctx.saved_tensors
        return g * 3 * x * again


class Custom(Plain):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Cube.apply(torch.tanh(super().forward(x)))


class Checkpointed(Dropped):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(super().forward, torch.tanh(x), use_reentrant=False)


class Functional(Plain):
    """Differentiates inside of its forward with torch.func, which forbids saved-tensor hooks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slope = torch.func.vmap(torch.func.grad(lambda v: torch.sin(v).sum()))(x)
        return torch.nn.functional.dropout(super().forward(x) * slope, 0.3)


class Penalty(Plain):
    """Takes a gradient inside of its forward."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        (slope,) = torch.autograd.grad(y.pow(2).sum(), self.up.weight, create_graph=True)
        return torch.tanh(y) + slope.mean()


class Gated(nn.Module):
    """As in many language models: two projections, one of them through an activation, multiplied."""

    def __init__(self, activation: Any = torch.nn.functional.silu) -> None:
        super().__init__()
        self.norm, self.activation = nn.LayerNorm(WIDTH, eps=1e-3), activation
        self.gate, self.up = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        return x + self.down(self.activation(self.gate(h)) * self.up(h))


class Cast(Dropped):
    """Computes in float16, by autocast inside of its forward."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.float16):
            y = super().forward(x)
        return torch.tanh(y.float())


class Conjugated(Plain):
    """Reads memory as its conjugate and as its negative, beside what lies there, as filters and correlations do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wave = torch.complex(torch.tanh(super().forward(x)), torch.sin(x))
        other = wave.conj()
        negative = other.imag
        return (other * wave.exp() + wave * other.sin()).real + negative.exp() * negative + torch.fft.fft(other).abs()


class Taught(Plain):
    """Learns from what was computed in inference mode: such tensors have no version."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            target = torch.sigmoid(super().forward(x)).mul_(2.0)
        return torch.tanh(super().forward(x)) + target + target.clone() * x


class Ragged(Plain):
    """Wraps its tensors in a jagged one, which has no memory of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = torch.nested.as_nested_tensor([x[:1], x[1:]], layout=torch.jagged)
        rows = torch.sigmoid(torch.nn.functional.linear(rows, self.up.weight))
        return x * (torch.cat(list(rows.unbind())) @ self.up.weight)


class Sparse(Plain):
    """Multiplies by what has no strides, as graph networks do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        edges = torch.eye(x.shape[0]).roll(1, 0).to_sparse()
        return torch.tanh(edges.to_sparse_csr() @ super().forward(x)).exp() + torch.sparse.mm(edges, x)


class Dual(Plain):
    """Differentiates forwards inside of its forward: a tensor has a tangent, which its memory does not tell."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with forward_ad.dual_level():
            both = forward_ad.make_dual(x, torch.ones_like(x))
            y, slope = forward_ad.unpack_dual(torch.tanh(super().forward(both)))
        return y + torch.sin(slope)


class Skips(nn.Module):
    """Uses one tensor inside and outside of its blocks, several times: the order of accumulation shows in the bits."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Twice() for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = [torch.tanh(x)]
        for block in self.blocks:
            seen.append(block(seen[-1]) + seen[0] * 0.3 + torch.sin(seen[-1]))
        return sum(seen) * seen[1]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) * self.b(x) + torch.exp(-x * x) + self.a(torch.tanh(x))


class Shared(nn.Module):
    """One block used three times, its weight also outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Twice(), Dropped()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            for block in self.blocks:
                x = torch.tanh(block(x))
        return x @ self.blocks[0].a.weight


@dataclass
class Result:
    main: torch.Tensor
    more: dict[str, Any]


class Trees(nn.Module):
    """Nested arguments and results."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = Plain()

        def forward(self, pair: dict[str, Any], *, scale: float, flag: str = "add") -> tuple[dict[str, Any], Result]:
            x, (y, mask) = pair["x"], pair["rest"]
            z = self.mix(x) * scale + torch.sigmoid(y)
            z = z.masked_fill(mask, 0.5) if flag == "add" else z
            return {"x": z, "rest": (torch.tanh(y * x), mask)}, Result(z * z, {"n": 3, "y": [y.exp()]})

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(self.Pair() for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pair: dict[str, Any] = {"x": x, "rest": (x.flip(0) * 2, x > 0.7)}
        total = torch.zeros(())
        for number, block in enumerate(self.blocks):
            pair, result = block(pair, scale=0.5 + number)
            total = total + result.main + result.more["y"][0]
        return total


BLOCKS = [
    Plain, Dropped, Attention, Recurrent, Cells, Normed, Spectral, OldSpectral, Weighted, InPlace, Mutating, Lucky,
    Counting, Custom, Checkpointed, Functional, Penalty, Gated, Cast, Conjugated, Taught, Ragged, Sparse, Dual,
]  # fmt: skip
WHOLES = [Skips, Shared, Trees]


def models() -> list[Any]:
    """Factories, by name."""
    found = {kind.__name__: (lambda kind=kind: stack(kind)) for kind in BLOCKS}
    found.update({kind.__name__: kind for kind in WHOLES})
    found["Sequential"] = lambda: nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, WIDTH))
    found["Mixed"] = lambda: Stack([kind() for kind in BLOCKS])
    return found


def seed(number: int = 0) -> None:
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)
