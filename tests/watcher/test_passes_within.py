# SPDX-License-Identifier: BSD-3-Clause
"""Passes that a node's backward makes within a pass: what they meet, by which way it came, and where the node was built."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from ..running import forked

# One tensor comes into several checkpointed functions; how, is the difference.
BLOCKS = """
    import functools
    import torch
    from torch import nn
    import torch.utils.checkpoint as cp

    HELD = {{}}

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.shift = None
        def forward(self, x, shift=None):
            given = shift if shift is not None else self.shift if self.shift is not None else HELD["shift"]
            return torch.tanh(self.lin(x) * given)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Layer() for _ in range(3))
            self.table = nn.Linear(2, 4)
        def prepared(self):
            return torch.sigmoid(self.table(torch.ones(2)))
        def forward(self, x):
            offsets = self.prepared()  # built
            for layer in self.layers:
                {how}
            return x

    net = Net()
    for turn in range(3):
        total = net(torch.randn(5, 4, requires_grad=True)).pow(2).mean()
        total.backward()  # failed
"""
WAYS = {
    "closure": ("x = cp.checkpoint(lambda y: layer(y, offsets), x, use_reentrant=True)", "offsets"),
    "default": ("x = cp.checkpoint(lambda y, at=layer, by=offsets: at(y, by), x, use_reentrant=True)", "by"),
    "partial": ("x = cp.checkpoint(functools.partial(layer, shift=offsets), x)", "shift"),
    "attribute": ("layer.shift = offsets; x = cp.checkpoint(layer, x)", "self.shift"),
    "global": ("HELD['shift'] = offsets; x = cp.checkpoint(layer.forward, x, use_reentrant=True)", 'HELD["shift"]'),
    "within_a_container": ("x = cp.checkpoint(lambda y, kw: layer(y, **kw), x, dict(shift=offsets))", "offsets"),
}


def run(tmp_path: Any, text: str) -> tuple[list[dict[str, Any]], str]:
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    done = forked(tmp_path, "main.py", watched=True)
    return done.findings, done.err


def line_of(text: str, mark: str) -> int:
    return next(n for n, row in enumerate(text.split("\n"), 1) if row.endswith(f"# {mark}"))


@pytest.mark.parametrize("way", WAYS)
def test_what_no_argument_brings_in_is_named(way, tmp_path) -> None:
    how, name = WAYS[way]
    text = textwrap.dedent(BLOCKS.format(how=how))
    [found], shown = run(tmp_path, text)
    assert (found["cause"], found["carrier"]["name"]) == ("freed-access", name)
    assert found["failed"]["line"] == line_of(text, "failed")
    assert found["built"]["line"] in (line_of(text, "built"), line_of(text, "built") - 2)
    # All of it happens in one pass, and no iteration comes in.
    assert "in iteration" not in found["message"] and "freed in iteration" not in shown
    passes = [e for e in found["evidence"] if e["what"] == "pass"]
    assert [(e.get("nested", False), e["label"]) for e in passes] == [
        (False, "failed"),
        (True, "freed"),
        (True, "failed"),
    ]
    assert all("checkpoint(" in e["text"] or "layer.shift" in e["text"] or "HELD" in e["text"] for e in passes[1:])
    [remedy] = found["remedies"]
    assert "use_reentrant=False" in remedy["diff"]
    assert "retain_graph=True` outside does not reach it" in shown.replace("\n        ", " ")


def test_a_function_of_ones_own_is_no_checkpoint(tmp_path) -> None:
    [found], shown = run(
        tmp_path,
        textwrap.dedent("""
            import torch

            class Again(torch.autograd.Function):
                @staticmethod
                def forward(ctx, run, x):
                    ctx.run = run
                    ctx.save_for_backward(x)
                    with torch.no_grad():
                        return run(x)
                @staticmethod
                def backward(ctx, grad):
                    x = ctx.saved_tensors[0].detach().requires_grad_()
                    with torch.enable_grad():
                        y = ctx.run(x)
                    y.backward(grad)
                    return None, x.grad

            scale = torch.nn.Parameter(torch.ones(3))
            gate = scale.exp() * 2
            x = torch.randn(3, requires_grad=True)
            for _ in range(2):
                x = Again.apply(lambda y: torch.tanh(y * gate), x)
            x.sum().backward()
        """),
    )
    assert (found["cause"], found["carrier"]["name"]) == ("freed-access", "gate")
    assert "checkpoint" not in found["message"] and "`Again`" in found["message"]
    assert "use_reentrant" not in shown


def test_a_state_that_goes_through_a_checkpoint_is_a_state(tmp_path) -> None:
    [found], _ = run(
        tmp_path,
        textwrap.dedent("""
            import torch
            from torch.utils.checkpoint import checkpoint

            cell = torch.nn.GRUCell(3, 4)
            optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
            state = torch.zeros(2, 4)
            for step in range(4):
                state = checkpoint(cell, torch.randn(2, 3, requires_grad=True), state, use_reentrant=True)
                loss = state.pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """),
    )
    assert (found["cause"], found["carrier"]["name"]) == ("carried-state", "state")
    assert not any(e.get("nested") for e in found["evidence"])
