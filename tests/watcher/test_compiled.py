# SPDX-License-Identifier: BSD-3-Clause
"""Watching makes torch.compile compile nothing anew and break no graph: what it counts is the same with and without.

Graph breaks inside of functions that carry marks are another matter: see the page on frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

PROGRAM = """
    import contextlib
    import sys

    import torch
    from torch import nn
    from torch._dynamo.utils import counters


    def scaled(x):
        y = torch.tanh(x)
        return 2.0 * y


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 8), nn.Linear(8, 1)

        def forward(self, x):
            for _ in range(2):
                x = x + 0.0
            return self.b(scaled(self.a(x)))


    @torch.compile(backend="aot_eager")
    def broken(x):
        y = x.tanh()
        torch._dynamo.graph_break()
        return y.sum()


    def train(step, optimizer, times):
        for k in range(times):
            x = torch.randn(4, 3)
            loss = step(x).pow(2).mean() + broken(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


    def main():
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        watch = contextlib.nullcontext
        if "inside" in sys.argv:
            import secondpass
            watch = secondpass.watch
        with watch():  # begins before anything is compiled, and ends
            step = torch.compile(net, backend="aot_eager")
            train(step, optimizer, 3)
        train(step, optimizer, 2)
        with watch():  # begins when it is compiled
            train(step, optimizer, 3)
        kept = {k: dict(v) for k, v in counters.items() if k in ("frames", "stats", "graph_break", "unimplemented")}
        print(sorted(kept.items()), net.a.weight.sum().item())


    main()
"""


def counted(folder: Path, *command: str) -> str:
    (folder / "program.py").write_text(dedent(PROGRAM).strip() + "\n")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "secondpass:" not in done.stderr, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return counted(tmp_path_factory.mktemp("plain"), "program.py")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("-m", "secondpass", "run", "program.py"), id="run"),
        pytest.param(("program.py", "inside"), id="inside", marks=pytest.mark.slow),
    ],
)
def test_counts_are_the_same(command: tuple[str, ...], plain: str, tmp_path: Path) -> None:
    assert "graph_break" in plain and "unique_graphs" in plain
    assert counted(tmp_path, *command) == plain
