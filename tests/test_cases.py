# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs: watching changes no bit of any; what `secondpass run` says about each is what its key has; a repaired
program leaves nothing to say. The format of a key is told in cases/README.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from .running import Run, forked

CASES = Path(__file__).parent / "cases"
MORE = Path(os.environ.get("SECONDPASS_CASES") or Path(__file__).parents[2] / "shared" / "cases")
"""Further programs of the same form, where they are at hand."""
FOLDERS = {key.parent.name: key.parent for root in (MORE, CASES) for key in sorted(root.glob("*/key.json"))}
KEYS = {name: json.loads((folder / "key.json").read_text(encoding="utf-8")) for name, folder in FOLDERS.items()}
# Programs that we know we do not explain rightly yet, each with its reason.
MISSES = dict(
    re.match(r"(\S+)\s+(.*)", line).groups()  # type: ignore[union-attr]
    for line in (CASES / "misses.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
# Repairs that leave something to say, and what is said is true.
LEFT = {
    ("memory-matrix-written-by-attention", "fixed_1.py"): ["unreached-parameter"]
}  # only the cut history trained `value`
REPAIRS = [(name, repair) for name, key in KEYS.items() for repair in key["result"] if repair != "main.py"]


def run(case: str, program: str, work: Path, *, watched: bool) -> Run:
    source = FOLDERS[case]
    if not (work / "main.py").exists():
        if (source / program).is_dir():
            shutil.copytree(source / program, work, dirs_exist_ok=True)
        else:
            ignored = shutil.ignore_patterns("fixed_*", "key.json", "__pycache__")
            shutil.copytree(source, work, ignore=ignored, dirs_exist_ok=True)
            shutil.copy(source / program, work / "main.py")
    return forked(work, "main.py", watched=watched)


def wrong(finding: dict[str, Any], key: dict[str, Any]) -> list[str]:
    """What of a finding is not among the answers that its key accepts."""

    def at(what: str) -> bool:
        place = finding.get(what) or {}
        here = Path(place.get("file", "")).name, place.get("line")
        return not key[what] or here in [(Path(file).name, line) for file, line in key[what]]

    def plain(name: str) -> str:
        return re.sub(r"\[[^\]]*\]", "[...]", name.replace(" ", ""))

    carrier = plain((finding.get("carrier") or {}).get("name") or "")
    kinds = [remedy["kind"] for remedy in finding["remedies"]]
    names = [plain(name) for name in key["carrier"]]
    right = {
        "cause": finding["cause"] in ([key["cause"]] if isinstance(key["cause"], str) else key["cause"]),
        "failed": at("failed"),
        "freed": at("freed"),
        "built": at("built"),
        "carrier": not names or any(carrier == n or carrier.startswith((f"{n}[", f"{n}.")) for n in names),
        "remedy": not key["remedy"] or (bool(kinds) and kinds[0] in key["remedy"]),
    }
    return [what for what, good in right.items() if not good]


def some(names: Iterable[str]) -> list[Any]:
    """A seventh of the programs, drawn by their names, in `make test`: their judgement is tested on stored traces as well."""
    return [n if zlib.crc32(n.encode()) % 7 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in names]


@pytest.mark.parametrize("case", some(FOLDERS))
def test_the_program_is_explained_and_unchanged(case: str, tmp_path: Path) -> None:
    plain, watched = (run(case, "main.py", tmp_path, watched=way) for way in (False, True))
    assert re.search(r"\[.*\] [0-9a-f]{64}\n$", plain.out), "no digest was printed"
    assert (watched.status, watched.out) == (plain.status, plain.out)
    assert "fault of its own" not in watched.err
    key, findings = KEYS[case], watched.findings
    if key["cause"] == "clean":
        assert plain.status == 0
        assert findings == []
        return
    assert (plain.status != 0) == (key["error"] != "none")
    if case in MISSES:
        pytest.xfail(MISSES[case])
    assert findings, "nothing found"
    assert min((wrong(finding, key) for finding in findings), key=len) == [], findings


@pytest.mark.slow
@pytest.mark.parametrize(("case", "repair"), REPAIRS)
def test_a_repaired_program_is_silent(case: str, repair: str, tmp_path: Path) -> None:
    done = run(case, repair, tmp_path, watched=True)
    assert done.status == 0
    assert "RESULT" in done.out
    assert [f["cause"] for f in done.findings] == LEFT.get((case, repair), [])


def test_every_case_is_whole() -> None:
    for name, key in KEYS.items():
        assert key["result"], name
        for program in key["result"]:
            assert (FOLDERS[name] / program).exists(), (name, program)
        for what in ("built", "freed", "failed", "edit_lines"):
            for file, line in key[what]:
                assert line <= len((FOLDERS[name] / file).read_text(encoding="utf-8").splitlines()), (name, what)
    assert set(MISSES) <= set(KEYS)
