# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs: what `secondpass run` says about each against its key; a repaired program leaves nothing to say.

A quick subset runs by default, a program of most causes; `pytest --all-cases` runs them all. The format of a
key is told in cases/README.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

CASES = Path(__file__).parent / "cases"
KEYS = {key.parent.name: json.loads(key.read_text(encoding="utf-8")) for key in sorted(CASES.glob("*/key.json"))}
# Programs that we know we do not explain rightly yet, each with its reason.
MISSES = dict(
    re.match(r"(\S+)\s+(.*)", line).groups()  # type: ignore[union-attr]
    for line in (CASES / "misses.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
QUICK = {
    "amp-scaler-on-cpu",
    "attention-read-from-graph",
    "clear-right-before-step",
    "ctr-model-retains-by-habit",
    "dqn-values-through-item",
    "generator-first-gan",
    "hooks-registered-every-step",
    "loss-totals-in-defaultdict",
    "negatives-queue-live-keys",
    "pix2pix-live-fake",
    "projected-task-gradients",
    "quasi-newton-closure-keeps-adding",
    "second-step-for-good-measure",
    "skip-batch-on-runtime-error",
    "tasks-in-module-dict",
    "total-loss-plus-loss",
    "transformer-memory-list",
    "validation-outputs-with-graph",
}
QUICK_REPAIRS = {("pix2pix-live-fake", "fixed_1"), ("trajectory-preallocated", "fixed_1.py")}
REPAIRS = [(name, repair) for name, key in KEYS.items() for repair in key["result"] if repair != "main.py"]


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs programs side by side; a test waits for its own only."""
    chosen = [item.callspec.params for item in request.session.items if "runs" in getattr(item, "fixturenames", ())]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        folder = tmp_path_factory.mktemp("cases")
        jobs: dict[tuple[str, str], Future[Any]] = {}
        for params in chosen:
            which = params["case"], params.get("repair", "main.py")
            jobs[which] = pool.submit(run, *which, folder / "-".join(which))
        yield jobs


def run(case: str, program: str, work: Path) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    source = CASES / case
    if (source / program).is_dir():
        shutil.copytree(source / program, work)
    else:
        shutil.copytree(source, work, ignore=shutil.ignore_patterns("fixed_*", "key.json", "__pycache__"))
        shutil.copy(source / program, work / "main.py")
    done = subprocess.run(
        [sys.executable, "-m", "secondpass", "run", "--json", "report.json", "main.py"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
    )
    return done, json.loads((work / "report.json").read_text(encoding="utf-8"))["findings"]


def wrong(finding: dict[str, Any], key: dict[str, Any]) -> list[str]:
    """What of a finding is not among the answers that its key accepts."""

    def at(what: str) -> bool:
        place = finding.get(what) or {}
        return not key[what] or [Path(place.get("file", "")).name, place.get("line")] in key[what]

    def plain(name: str) -> str:
        return re.sub(r"\[[^\]]*\]", "[...]", name.replace(" ", ""))

    carrier = plain((finding.get("carrier") or {}).get("name") or "")
    kinds = [remedy["kind"] for remedy in finding["remedies"]]
    right = {
        "cause": finding["cause"] == key["cause"],
        "failed": at("failed"),
        "freed": at("freed"),
        "built": at("built"),
        "carrier": not key["carrier"] or carrier in map(plain, key["carrier"]),
        "remedy": not key["remedy"] or (bool(kinds) and kinds[0] in key["remedy"]),
    }
    return [what for what, good in right.items() if not good]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    everything = metafunc.config.getoption("--all-cases")
    if "repair" in metafunc.fixturenames:
        metafunc.parametrize(("case", "repair"), [r for r in REPAIRS if everything or r in QUICK_REPAIRS], ids="/".join)
    elif "case" in metafunc.fixturenames:
        names = [name for name in KEYS if everything or name in QUICK]
        marks = {name: pytest.mark.xfail(reason=reason, strict=False) for name, reason in MISSES.items()}
        metafunc.parametrize("case", [pytest.param(n, marks=marks[n]) if n in marks else n for n in names])


def test_the_program_is_explained(case: str, runs: Any) -> None:
    done, findings = runs[case, "main.py"].result()
    key = KEYS[case]
    assert "fault of its own" not in done.stderr
    if key["cause"] == "clean":
        assert done.returncode == 0
        assert findings == []
        return
    assert (done.returncode != 0) == (key["error"] != "none")
    assert findings, "nothing found"
    assert min((wrong(finding, key) for finding in findings), key=len) == []


def test_a_repaired_program_is_silent(case: str, repair: str, runs: Any) -> None:
    done, findings = runs[case, repair].result()
    assert done.returncode == 0
    assert "RESULT" in done.stdout
    assert findings == []


def test_every_case_is_whole() -> None:
    for name, key in KEYS.items():
        assert key["result"], name
        for program in key["result"]:
            assert (CASES / name / program).exists(), (name, program)
        for what in ("built", "freed", "failed", "edit_lines"):
            for file, line in key[what]:
                assert line <= len((CASES / name / file).read_text(encoding="utf-8").splitlines()), (name, what)
    assert set(MISSES) <= set(KEYS)
    assert set(KEYS) >= QUICK
    assert set(REPAIRS) >= QUICK_REPAIRS
