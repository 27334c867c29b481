# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tests.traces [NAME...]`: runs every program of tests/cases (or those named) and stores what was observed of it."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from ..faults.pool import ROOT, Pool, Worker
from ..faults.program import Program
from . import CASES, TRACES, stored_at

LARGEST = 60_000
"""Bytes, compressed. What is larger tells nothing that smaller ones do not."""


def _files(case: Path) -> list[Path]:
    return [p for p in sorted(case.rglob("*.py")) if not p.relative_to(case).parts[0].startswith("fixed_")]


def main() -> int:
    TRACES.mkdir(exist_ok=True)
    names = sys.argv[1:]
    for old in () if names else TRACES.glob("*.json.gz"):
        old.unlink()
    programs = [
        Program(
            key.parent.name, {str(p.relative_to(key.parent)): p.read_text(encoding="utf-8") for p in _files(key.parent)}
        )
        for key in sorted(CASES.glob("*/key.json"))
        if not names or key.parent.name in names
    ]
    count = size = 0
    with Pool(2) as pool:
        for program, answer in pool.map(_trace, programs):
            # Where this folder lies is nobody's business.
            text = json.dumps(answer.get("report"), separators=(",", ":")).replace(f"{ROOT}/", "")
            packed = gzip.compress(text.encode(), mtime=0)
            if answer.get("report") is None or len(packed) > LARGEST:
                print(f"{program.name}: not stored ({len(packed)} bytes)", file=sys.stderr)
                continue
            stored_at(program.name).write_bytes(packed)
            count, size = count + 1, size + len(packed)
    print(f"{count} traces, {size / 1e6:.1f} MB")
    return 0


def _trace(worker: Worker, program: Program) -> dict[str, object]:
    return worker.ask(program, "command", command=["run", "-q", "--trace", "../report.json", "main.py"], limit=90)


if __name__ == "__main__":
    sys.exit(main())
