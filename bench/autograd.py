# SPDX-License-Identifier: BSD-3-Clause
"""The specification's speed: whole training steps, against PyTorch eager and against the `autograd` package.

All three run the same models from the same weights in one process and take turns; the median of the rounds counts.
Figures are ratios of our time to theirs: below 1 we are the faster.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

import secondpass.autograd as spec

# This file has the name of the package that it measures, and Python looks beside it first.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]
autograd: Any = importlib.import_module("autograd")
anp: Any = importlib.import_module("autograd.numpy")

Step = Callable[[], float]
MLP, LSTM, ATTENTION = (64, 32, 64, 10), (8, 16, 32, 16), (4, 16, 32, 4)


# --- as in PyTorch: the same source for PyTorch and for the specification
def mlp(lib: Any) -> Step:
    """Three layers, mean squared error, SGD."""
    batch, wide, hidden, out = MLP
    nn, x, y = lib.nn, *_data(lib, (batch, wide), (batch, out))
    model = nn.Sequential(
        nn.Linear(wide, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, out)
    )
    return _trained(lib, model, lambda: nn.functional.mse_loss(model(x), y))


def lstm(lib: Any) -> Step:
    """An LSTMCell over a sequence."""
    batch, wide, hidden, length = LSTM
    (x,) = _data(lib, (length, batch, wide))
    cell = lib.nn.LSTMCell(wide, hidden)

    def loss() -> Any:
        h, c = lib.zeros(batch, hidden), lib.zeros(batch, hidden)
        for t in range(length):
            h, c = cell(x[t], (h, c))
        return (h * h).mean()

    return _trained(lib, cell, loss)


def attention(lib: Any) -> Step:
    """One transformer block."""
    batch, length, width, heads = ATTENTION
    nn, (x,) = lib.nn, _data(lib, (batch, length, width))

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            qkv = self.qkv(self.norm1(x)).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q, k, v = qkv[0], qkv[1], qkv[2]
            scores = (q @ k.transpose(-2, -1)) * (width // heads) ** -0.5
            mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
            x = x + self.out(mixed)
            return x + self.down(self.up(self.norm2(x)).relu())

    block = Block()
    return _trained(lib, block, lambda: (block(x) ** 2).mean())


def _data(lib: Any, *shapes: tuple[int, ...]) -> list[Any]:
    draw = np.random.default_rng(0)
    return [lib.from_numpy(draw.standard_normal(s).astype(np.float32)) for s in shapes]


def _trained(lib: Any, model: Any, loss: Callable[[], Any]) -> Step:
    _fill(model)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        return float(found.item())

    return step


def _fill(model: Any) -> None:
    draw = np.random.default_rng(1)
    for p in model.parameters():
        np.copyto(p.detach().numpy(), draw.standard_normal(tuple(p.shape)).astype(np.float32) * 0.1)


# --- as in the `autograd` package: a function of arrays
def _functional(shapes: list[tuple[int, ...]], loss: Callable[[list[Any]], Any]) -> Step:
    draw = np.random.default_rng(1)
    weights = [draw.standard_normal(s).astype(np.float32) * np.float32(0.1) for s in shapes]
    both = autograd.value_and_grad(loss)

    def step() -> float:
        value, grads = both(weights)
        for w, g in zip(weights, grads, strict=True):
            w -= np.float32(0.01) * g
        return float(value)

    return step


def _array(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def mlp_arrays() -> Step:
    """The same MLP."""
    batch, wide, hidden, out = MLP
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal(s).astype(np.float32) for s in ((batch, wide), (batch, out)))

    def loss(w: list[Any]) -> Any:
        h = anp.tanh(anp.dot(x, w[0].T) + w[1])
        h = anp.tanh(anp.dot(h, w[2].T) + w[3])
        apart = anp.dot(h, w[4].T) + w[5] - y
        return anp.mean(apart * apart)

    return _functional([(hidden, wide), (hidden,), (hidden, hidden), (hidden,), (out, hidden), (out,)], loss)


def lstm_arrays() -> Step:
    """The same LSTM."""
    batch, wide, hidden, length = LSTM
    x = _array(length, batch, wide)

    def sigmoid(v: Any) -> Any:
        return 0.5 * anp.tanh(0.5 * v) + 0.5

    def loss(w: list[Any]) -> Any:
        h = c = np.zeros((batch, hidden), np.float32)
        for t in range(length):
            gates = anp.dot(x[t], w[0].T) + w[2] + anp.dot(h, w[1].T) + w[3]
            i, f, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * anp.tanh(g)
            h = sigmoid(o) * anp.tanh(c)
        return anp.mean(h * h)

    return _functional([(4 * hidden, wide), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)], loss)


def attention_arrays() -> Step:
    """The same block."""
    batch, length, width, heads = ATTENTION
    x = _array(batch, length, width)

    def norm(v: Any, scale: Any, shift: Any) -> Any:
        centred = v - anp.mean(v, -1, keepdims=True)
        return centred / anp.sqrt(anp.mean(centred * centred, -1, keepdims=True) + 1e-5) * scale + shift

    def loss(w: list[Any]) -> Any:
        flat = anp.matmul(norm(x, w[0], w[1]), w[4].T) + w[5]
        q, k, v = anp.transpose(anp.reshape(flat, (batch, length, 3, heads, -1)), (2, 0, 3, 1, 4))
        scores = anp.matmul(q, anp.swapaxes(k, -2, -1)) * (width // heads) ** -0.5
        e = anp.exp(scores - anp.max(scores, -1, keepdims=True))
        mixed = anp.matmul(e / anp.sum(e, -1, keepdims=True), v)
        out = x + anp.matmul(anp.reshape(anp.swapaxes(mixed, 1, 2), (batch, length, width)), w[6].T) + w[7]
        inner = anp.maximum(anp.matmul(norm(out, w[2], w[3]), w[8].T) + w[9], 0)
        out = out + anp.matmul(inner, w[10].T) + w[11]
        return anp.mean(out * out)

    n = width
    return _functional(
        [(n,), (n,), (n,), (n,), (3 * n, n), (3 * n,), (n, n), (n,), (2 * n, n), (2 * n,), (n, 2 * n), (n,)], loss
    )


def measured(name: str, steps: dict[str, Step], rounds: int) -> None:
    """Runs the competitors in turn and prints the ratios."""
    first = {who: [step() for _ in range(5)] for who, step in steps.items()}
    for who, losses in first.items():
        if not np.allclose(losses, first["spec"], rtol=1e-3):
            sys.exit(f"{name}: {who} does not compute the same: {losses} / {first['spec']}")
    times: dict[str, list[float]] = {who: [] for who in steps}
    for _ in range(rounds):
        for who, step in steps.items():
            begin = perf_counter()
            for _ in range(5):
                step()
            times[who].append((perf_counter() - begin) / 5)
    median = {who: statistics.median(t) for who, t in times.items()}
    print(
        f"{name:10} {median['spec'] * 1e6:7.0f} us a step: x{median['spec'] / median['pytorch']:.2f} of PyTorch, "
        f"x{median['spec'] / median['autograd']:.2f} of autograd"
    )


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="rounds of 5 steps each (default: %(default)s)")
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for name, build, arrays in (
        ("mlp", mlp, mlp_arrays), ("lstm", lstm, lstm_arrays), ("attention", attention, attention_arrays)
    ):  # fmt: skip
        measured(name, {"spec": build(spec), "pytorch": build(torch), "autograd": arrays()}, rounds)


if __name__ == "__main__":
    main()
