# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs are explained without PyTorch: those of tests/cases that the specification can run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One process for all: PyTorch's name stands for the specification there."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.causes.on_specification", *map(str, CASES)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_program(case, results, request):
    key = json.loads((case / "key.json").read_text(encoding="utf-8"))
    row = results[case.name]
    if "missing" in row:
        pytest.skip(f"the specification lacks something: {row['missing']}")
    if case.name in MISSES:
        request.applymarker(pytest.mark.xfail(reason=MISSES[case.name]))
    found = list(dict.fromkeys(f["cause"] for f in row["findings"]))  # one mistake may stand in two lines
    assert found == ([] if key["cause"] == "clean" else [key["cause"]])


def test_enough_of_them_run(results):
    ran = [row for row in results.values() if "missing" not in row]
    assert len(ran) >= len(CASES) // 2
