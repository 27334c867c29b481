# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose passes a framework makes that nobody here knows: what it holds for them, and what they hand back to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("torch")

ENGINE = """
    import torch

    class Listeners:
        def __init__(self, listeners):
            self.listeners = listeners

        def call(self, event):
            for listener in self.listeners:
                getattr(listener, event)()

    class Engine:
        def __init__(self, model, listeners=()):
            self.model, self.handler = model, Listeners(list(listeners))
            self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def fit(self, batches):
            for batch in batches:
                self.step(batch)

        def step(self, batch):
            self.optimizer.zero_grad()
            loss = self.loss(self.model, batch) / 1
            loss.backward()
            self.optimizer.step()
            self.handler.call("after")
"""
MODEL = """
    from collections import deque
    import torch
    from torch import nn
    from engines import Engine

    torch.manual_seed(0)
    data = torch.randn(24, 5, 3)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.bridge = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 2)

        def forward(self, x):
            return self.body(x)
"""
QUEUE = """
    class Past:
        def __init__(self):
            self.new, self.queue = None, deque(maxlen=3)

        def after(self):
            self.queue.append(self.new)

    class Mine(Engine):
        def __init__(self, past, **rest):
            super().__init__(listeners=[past], **rest)
            self.past = past

        def loss(self, model, x):
            self.past.new = out = model(x)
            return (out @ torch.cat([out, *self.past.queue]).T).pow(2).mean() + model.bridge(out).pow(2).mean()

    Mine(Past(), model=Net()).fit(data)
"""
ONCE = """
    class Mine(Engine):
        def __init__(self, model, *, anchors):
            super().__init__(model)
            self.marks = model(anchors)

        def loss(self, model, x):
            out = model(x)
            return (out @ self.marks.T).pow(2).mean() + model.bridge(out).pow(2).mean()

    Mine(Net(), anchors=torch.randn(2, 3)).fit(data)
"""
CUT = """
    class Mine(Engine):
        def loss(self, model, x):
            out = model(x)
            with torch.no_grad():
                goal = torch.ones(5, 2)
                gap = self.gap(goal, out, model.bridge)
            return out.pow(2).mean() + gap

        def gap(self, goal, out, bridge):
            return (bridge(out) - goal).pow(2).mean()

    Mine(Net()).fit(data)
"""


def findings(folder: Path, program: str) -> list[dict[str, Any]]:
    library = folder / "unpacked"
    (library / "engines-1.0.dist-info").mkdir(parents=True)
    (library / "engines").mkdir()
    (library / "engines" / "__init__.py").write_text(dedent(ENGINE), encoding="utf-8")
    (folder / "train.py").write_text(dedent(MODEL) + dedent(program), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "secondpass", "run", "--json", "found.json", "train.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(library), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert "fault of its own" not in done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "found.json").read_text(encoding="utf-8"))["findings"]
    return found


@pytest.mark.parametrize(
    ("program", "cause", "carrier", "line"),
    [
        (QUEUE, "stored-history", "self.queue[0]", "Mine(Past(), model=Net()).fit(data)"),
        (ONCE, "hoisted-forward", "self.marks", "Mine(Net(), anchors=torch.randn(2, 3)).fit(data)"),
        (CUT, "unreached-parameter", "self.model.bridge", "with torch.no_grad():"),
    ],
)
def test_a_framework_that_nobody_knows(tmp_path: Path, program: str, cause: str, carrier: str, line: str) -> None:
    [one] = findings(tmp_path, program)
    assert (one["cause"], one["carrier"]["name"]) == (cause, carrier)
    assert one["failed"]["file"] == "train.py"
    text = (tmp_path / "train.py").read_text(encoding="utf-8").splitlines()
    assert text[one["failed"]["line"] - 1].strip() == line
