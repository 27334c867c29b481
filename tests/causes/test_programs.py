# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs are explained without PyTorch: those of tests/cases that the specification can run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CASES = sorted(p.parent for p in (ROOT / "tests" / "cases").glob("*/key.json"))

# What the specification's trace does not tell.
MISSES = {
    "futures-nobody-asks": "what other threads do",
    "gating-branch-forgotten": "which of a network's parts ran",
    "hand-written-descent-keeps-grad": "steps by hand: only optimizers announce theirs",
    "hooks-registered-every-step": "what hooks hold",
    "metrics-by-step-in-module-dict": "what modules hold whose code is not running",
    "metrics-queued-for-the-writer": "what a queue holds",
    "restart-with-a-fresh-network": "parameters that were reached once and then no more",
    "update-through-data-keeps-adding": "steps by hand: only optimizers announce theirs",
    "workers-share-one-context": "what other threads do",
}

pytestmark = pytest.mark.slow


AT_ONCE = 12


@cache
def results(first: int) -> dict[str, Any]:
    """One process for some of them, so that several workers share the work: PyTorch's name stands for the specification there."""
    some = CASES[first : first + AT_ONCE]
    done = subprocess.run(
        [sys.executable, "-m", "tests.causes.on_specification", *map(str, some)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("at", range(len(CASES)), ids=lambda i: CASES[i].name)
def test_program(at, request):
    case = CASES[at]
    key = json.loads((case / "key.json").read_text(encoding="utf-8"))
    row = results(at - at % AT_ONCE)[case.name]
    if "missing" in row:
        pytest.skip(f"the specification lacks something: {row['missing']}")
    if case.name in MISSES:
        request.applymarker(pytest.mark.xfail(reason=MISSES[case.name]))
    found = list(dict.fromkeys(f["cause"] for f in row["findings"]))  # one mistake may stand in two lines
    causes = key["cause"] if isinstance(key["cause"], list) else [key["cause"]]
    assert found == [] if causes == ["clean"] else len(found) == 1 and found[0] in causes


def test_enough_of_them_run():
    rows = [row for first in range(0, len(CASES), 5 * AT_ONCE) for row in results(first).values()]
    assert len([row for row in rows if "missing" not in row]) >= 0.4 * len(rows)
