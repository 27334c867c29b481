# SPDX-License-Identifier: BSD-3-Clause
"""What the watcher saw of small programs, stored beside them: faults, and right programs that look like them.

The first line of a program says what is to be found, which names may be its carrier, and (behind a semicolon) which remedies may
come first; a comment `#! built` (freed, failed) stands on the lines that the finding may point at.
`secondpass run --trace` records a trace again, should the record change.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from secondpass.causes import diagnose
from secondpass.record import Trace, from_plain

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_judgement(path):
    text = path.read_text(encoding="utf-8")
    said, _, remedies = text.splitlines()[0].removeprefix("# ").partition(";")
    cause, _, names = said.partition(":")
    trace = from_plain(Trace, json.loads(gzip.decompress(path.with_suffix(".json.gz").read_bytes())))
    found = diagnose(trace)
    assert [f.cause for f in found] == ([] if cause == "clean" else [cause])
    for finding in found:
        for role in ("built", "freed", "failed"):
            lines = [n for n, row in enumerate(text.splitlines(), 1) if re.search(rf"#!.*\b{role}\b", row)]
            place = getattr(finding, role)
            assert not lines or (place is not None and place.line in lines), f"{role}: {place}"
        carrier = finding.carrier.name if finding.carrier is not None else ""
        assert carrier in (names.split() or [""])
        assert not remedies or finding.remedies[0].kind in remedies.split()
