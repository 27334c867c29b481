# SPDX-License-Identifier: BSD-3-Clause
"""Graphs so deep that touching all their nodes from Python would overflow the stack when they are dropped."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEEP = """
import torch, secondpass

session = secondpass.install()
w = torch.ones(2, requires_grad=True)

def train(steps, carry):
    h = w * 1.0
    for step in range(steps):
        h = h if carry else w * 1.0
        for _ in range(70_000):
            h = h * 1.0000001
        (h * h).sum().backward()

{body}
print("alive")
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", DEEP.format(body=body)], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("where", ["main thread", "another thread"])
def test_a_deep_graph_is_dropped_without_harm(where: str) -> None:
    body = "train(3, carry=False)"
    if where == "another thread":
        body = "import threading; t = threading.Thread(target=train, args=(3, False)); t.start(); t.join()"
    done = run(body)
    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


def test_a_failure_in_a_deep_graph_stays_the_user_s_own() -> None:
    done = run("try:\n    train(2, carry=True)\nexcept RuntimeError as e:\n    print(*e.__notes__)")
    assert done.returncode == 0, done.stderr
    assert "more than can be looked at without harm" in done.stdout
    assert done.stdout.endswith("alive\n")
