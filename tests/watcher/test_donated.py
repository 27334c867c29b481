# SPDX-License-Identifier: BSD-3-Clause
"""Passes that were to keep the graph of a region that gives its memory away: what is wanted of the gradients decides the remedy."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from ..running import forked

HEAD = """
import torch
from torch import nn

class Enhancer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
    def forward(self, wave):
        return torch.tanh(self.down(torch.nn.functional.gelu(self.up(wave))))

net = Enhancer()
fast = torch.compile(net, backend="aot_eager")
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
waves = torch.randn(3, 6, 4)
fast(waves[0]).sum().backward()  # a region whose first pass keeps the graph would be compiled without donated buffers
"""
SHAPES = {
    # Each gradient is wanted by itself: norms of `grad`, or of what a pass has left in `.grad`.
    "norms_of_grad": (
        """
        for wave in waves:
            clean = fast(wave)
            near, small = (clean - wave).pow(2).mean(), clean.abs().mean()
            a, = torch.autograd.grad(near, net.down.weight, retain_graph=True)
            b, = torch.autograd.grad(small, net.down.weight, retain_graph=True)
            adam.zero_grad()
            (near + a.norm() / b.norm() * small).backward()
            adam.step()
        """,
        ["other"],
    ),
    "gradients_copied": (
        """
        for wave in waves:
            clean = fast(wave)
            near, small = (clean - wave).pow(2).mean(), clean.abs().mean()
            adam.zero_grad()
            near.backward(retain_graph=True)
            first = [p.grad.clone() for p in net.parameters()]
            adam.zero_grad()
            small.backward()
            adam.step()
        """,
        ["other"],
    ),
    "clipped_one_by_one": (
        """
        for wave in waves:
            clean = fast(wave)
            near, small = (clean - wave).pow(2).mean(), clean.abs().mean()
            adam.zero_grad()
            near.backward(retain_graph=True)
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            small.backward()
            adam.step()
        """,
        ["other"],
    ),
    # Nothing is done in between: one pass over the sum.
    "one_after_another": (
        """
        for wave in waves:
            clean = fast(wave)
            near, small = (clean - wave).pow(2).mean(), clean.abs().mean()
            adam.zero_grad()
            near.backward(retain_graph=True)
            small.backward()
            adam.step()
        """,
        ["combine-losses", "other"],
    ),
    "loop_over_losses": (
        """
        for wave in waves:
            clean = fast(wave)
            terms = [(clean - wave).pow(2).mean(), clean.abs().mean()]
            adam.zero_grad()
            for term in terms:
                term.backward(retain_graph=True)
            adam.step()
        """,
        ["combine-losses", "other"],
    ),
    # No other pass comes.
    "kept_for_nothing": (
        """
        for wave in waves:
            clean = fast(wave)
            near = (clean - wave).pow(2).mean()
            adam.zero_grad()
            near.backward(retain_graph=True)
            adam.step()
        """,
        ["other", "drop-retain"],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_remedies(shape: str, tmp_path: Any) -> None:
    loop, kinds = SHAPES[shape]
    text = HEAD + textwrap.dedent(loop)
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    done = forked(tmp_path, "main.py", watched=True)
    assert "non-empty donated buffers" in done.err
    [found] = done.findings
    assert (found["cause"], found["carrier"]["name"]) == ("overwritten-output", "clean")
    assert [r["kind"] for r in found["remedies"]] == kinds
    rows = text.split("\n")
    assert any(call in rows[found["built"]["line"] - 1] for call in ("fast(wave)", "self.up(wave)"))
    assert "retain_graph=True" in rows[found["failed"]["line"] - 1]
    [other] = [r for r in found["remedies"] if r["kind"] == "other"]
    assert "+torch._functorch.config.donated_buffer = False" in other["diff"]


def test_what_is_differentiated_twice_is_not_compiled(tmp_path: Any) -> None:
    loop = """
    for wave in waves:
        slope, = torch.autograd.grad(fast(wave).sum(), net.up.weight, create_graph=True)
        slope.pow(2).mean().backward()
    """
    (tmp_path / "main.py").write_text(HEAD + textwrap.dedent(loop), encoding="utf-8")
    [found] = forked(tmp_path, "main.py", watched=True).findings
    # No setting of buffers would help: PyTorch cannot differentiate a compiled backward.
    assert all("donated_buffer = False" not in r["title"] for r in found["remedies"])
    assert "out of torch.compile" in found["remedies"][0]["title"]
