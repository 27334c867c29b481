# SPDX-License-Identifier: BSD-3-Clause
"""Every example shows the cause it is named after, at the lines that a reader would point at."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# How often the names are looked at depends on the speed of the machine, and so do these counts.
SAMPLED = re.compile(
    r"\d+(?= (?:tensors )?with history)|(?<=with history in iteration )\d+|\d+(?=\ntensors with history)"
    r"|\d+ of \d+ steps(?: that were looked at)?"
)
ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# What stands on the accepted lines (built, freed, failed) and the accepted carriers; () where the cause has none.
EXPECTED = {
    "accumulated_loss": (("total_loss +=",), ("total_loss.backward()",), ("total_loss.backward()",), ("total_loss",)),
    "carried_state": (("hidden = cell(",), ("loss.backward()",), ("loss.backward()",), ("hidden",)),
    "crossed_networks": (("fake = ",), ("loss_d.backward()",), ("loss_g.backward()",), ("fake",)),
    "graph_leak": ((), (), (".append(loss)", "append(code"), ('history["loss"]', 'history["sparsity"]', "history")),
    "hoisted_forward": (("penalty = (",), ("loss.backward()",), ("loss.backward()",), ("penalty",)),
    "inplace_change": (("weights = ", "weights[row"), ("weights[row",), ("loss.backward()",), ("weights",)),
    "lost_history": (("a.detach()", "torch.tensor("), (), ("loss.backward()",), ()),
    "missing_zero_grad": ((), (), ("loss.backward()", "optimizer.step()", "for step"), ()),
    "shared_forward": (
        ("features = self", "model(inputs"),
        ("loss_class.backward()",),
        ("loss_angle.backward()",),
        ("features", "logits", "predicted"),
    ),
    "step_between": (
        ("actor_loss =",),
        ("opt_critic.step()",),
        ("actor_loss.backward()",),
        (),
    ),
}


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )


def edits(finding: dict[str, Any]) -> list[tuple[int, str]]:
    return [(e["line"], e["new"]) for e in finding["remedies"][0]["edits"]]


def test_every_example_is_expected():
    assert {p.stem for p in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path, golden):
    pytest.importorskip("torch")
    from .running import forked

    (tmp_path / "examples").mkdir()
    shutil.copy(path, tmp_path / "examples")
    plain, watched = (forked(tmp_path, f"examples/{path.name}", watched=way) for way in (False, True))
    assert (watched.status, watched.out) == (plain.status, plain.out), "watching must not change a result"

    [finding] = watched.findings
    assert finding["cause"] == path.stem.replace("_", "-")
    lines = path.read_text().splitlines()
    built, freed, failed, carriers = EXPECTED[path.stem]
    for role, accepted in (("built", built), ("freed", freed), ("failed", failed)):
        if accepted:
            line = lines[finding[role]["line"] - 1]
            assert any(part in line for part in accepted), f"{role} points at {line!r}"
    if carriers:
        assert finding["carrier"]["name"].replace("'", '"') in carriers
    assert finding["remedies"], "a finding says what to do"
    report = tmp_path / "check.json"
    python("-m", "secondpass", "check", "--no-cache", "--json", str(report), str(tmp_path / "examples"))
    [read] = json.loads(report.read_text())["findings"]
    assert edits(read) == edits(finding), "reading it proposes the same edit as running it"
    start = watched.err.index(f"{finding['code']} {finding['cause']}")
    golden(f"examples/{path.stem}.txt", SAMPLED.sub("N", watched.err[start:]))


def test_reading_finds_every_example(tmp_path):
    done = python("-m", "secondpass", "check", "--no-cache", "--json", str(tmp_path / "report.json"), "examples")
    assert done.returncode == 1
    found = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert {(Path(f["failed"]["file"]).stem.replace("_", "-"), f["cause"]) for f in found} == {
        (cause, cause) for cause in (p.stem.replace("_", "-") for p in EXAMPLES)
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_is_repaired(path, tmp_path):
    pytest.importorskip("torch")
    done = python("-m", "secondpass", "fix", "--json", str(tmp_path / "report.json"), f"examples/{path.name}")
    assert done.returncode == 0, done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["program"]["fixed"]
    [finding] = report["findings"]
    assert finding["remedies"][0]["proof"]["status"] == "proven"
