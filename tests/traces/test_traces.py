# SPDX-License-Identifier: BSD-3-Clause
"""Causes judge stored traces as the keys of their programs have it, and torch is not needed for that."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from secondpass.causes import diagnose
from secondpass.record import Finding, Trace, from_plain

from . import CASES, TRACES

STORED = sorted(TRACES.glob("*.json.gz"))
MISSED = {"gating-branch-forgotten", "module-with-a-fit-loop-of-its-own"}
"""Silent as yet."""


@cache
def trace_of(path: Path) -> Trace:
    return from_plain(Trace, json.loads(gzip.decompress(path.read_bytes())))


def is_at(finding: Finding, role: str, accepted: list[list[object]]) -> bool:
    place = getattr(finding, role)
    there = [(Path(str(file)).name, line) for file, line in accepted]
    return not accepted or (place is not None and (Path(place.file).name, place.line) in there)


@pytest.mark.parametrize("path", STORED, ids=lambda p: p.name.removesuffix(".json.gz"))
def test_judgement(path: Path) -> None:
    case = path.name.removesuffix(".json.gz")
    key = json.loads((CASES / case / "key.json").read_text(encoding="utf-8"))
    found = diagnose(trace_of(path))
    if key["cause"] == "clean" or case in MISSED:
        assert [(f.code, f.message) for f in found] == []
        return
    causes = key["cause"] if isinstance(key["cause"], list) else [key["cause"]]
    right = [f for f in found if f.cause in causes] or [
        f for f in found if "swallowed-error" in causes and f.severity == "error"
    ]
    assert right, [(f.code, f.message) for f in found]
    assert any(all(is_at(f, role, key.get(role) or []) for role in ("built", "freed", "failed")) for f in right)


def test_there_are_many() -> None:
    assert len(STORED) >= 200


def test_without_torch() -> None:
    code = (
        "import gzip, json, sys; from secondpass.causes import diagnose; from secondpass.record import Trace, from_plain; "
        "diagnose(from_plain(Trace, json.loads(gzip.decompress(open(sys.argv[1], 'rb').read())))); "
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(STORED[0])], check=True)
