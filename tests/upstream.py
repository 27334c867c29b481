# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of autograd, plain and under `secondpass.install()`: prints the tests whose outcome differs.

    python tests/upstream.py path/to/pytorch/test/test_autograd.py [pytest options]

The file is not part of this project: take it from PyTorch's repository, at the version that is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Tree
from collections import Counter
from pathlib import Path

RUN = """
import sys, pytest
if {watched}:
    import secondpass
    secondpass.install()
sys.exit(pytest.main(sys.argv[1:]))
"""


def start(file: Path, report: Path, watched: bool, options: list[str]) -> subprocess.Popen[bytes]:
    """One run of the tests, in a process of its own."""
    command = [
        sys.executable, "-c", RUN.format(watched=watched), str(file), "-q", "-p", "no:cacheprovider", "-p", "no:secondpass",
        "--tb=line", f"--junitxml={report}", f"--rootdir={file.parent}", *options,
    ]  # fmt: skip
    log = report.with_suffix(".log").open("wb")
    return subprocess.Popen(
        command, cwd=file.parent, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def outcomes(report: Path) -> dict[str, str]:
    """The outcome of every test."""
    found = {}
    for case in Tree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = next((k for k in ("error", "failure", "skipped") if k in kinds), "passed")
        found[f"{case.get('classname')}.{case.get('name')}"] = outcome
    return found


def main() -> int:
    """Runs both, side by side."""
    file, options = Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        reports = {way: Path(folder, f"{way}.xml") for way in ("plain", "watched")}
        runs = [start(file, report, way == "watched", options) for way, report in reports.items()]
        for run in runs:
            run.wait()
        for way, report in reports.items():
            if not report.exists():
                print(f"{way}: no report\n{report.with_suffix('.log').read_text(errors='replace')[-2000:]}")
                return 2
        plain, watched = (outcomes(report) for report in reports.values())
        ours = [
            line
            for line in reports["watched"].with_suffix(".log").read_text(errors="replace").splitlines()
            if line.startswith("secondpass:")
        ]
    print("plain  ", dict(Counter(plain.values())))
    print("watched", dict(Counter(watched.values())))
    different = sorted(n for n in plain.keys() | watched.keys() if plain.get(n) != watched.get(n))
    print(f"{len(different)} of {len(plain)} tests differ")
    for name in different:
        print(f"  {name}: {plain.get(name)} -> {watched.get(name)}")
    for line in ours:
        print(line)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
