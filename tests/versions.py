# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tests.versions`: the tests that touch PyTorch, against one release of it after the other; see docs/versions.md.

Each release gets an environment of its own, which is gone afterwards: several gigabytes of CUDA libraries come with most.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ["2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
PARTS = {
    "watch": ["tests/watcher", "tests/test_examples.py"],
    "causes": ["tests/causes"],
    "keep": ["tests/keep"],
    "plugins": ["tests/plugins"],
}
HEAD = "| PyTorch | Python | watch | causes | keep | plugins |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument(
        "versions", nargs="*", default=VERSIONS, metavar="VERSION", help="releases (all that are known)"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / ".versions", help="where the environments are made")
    parser.add_argument("--part", action="append", choices=[*PARTS], help="only this part, may be repeated")
    parser.add_argument("--keep", action="store_true", help="leave the environments there")
    parser.add_argument("--publish", type=Path, metavar="FILE", help="put the rows into the table of this file")
    options = parser.parse_args()
    rows = {}
    for version in options.versions:
        home = options.folder / version
        problem = make(home, version)
        if problem:
            rows[version] = f"| {version} | | cannot be had: {problem} | | | |"
        else:
            rows[version] = row(home, version, options.part or [*PARTS])
        print(rows[version], flush=True)
        if not options.keep:
            shutil.rmtree(home, ignore_errors=True)
    if options.publish:
        text = options.publish.read_text(encoding="utf-8")
        options.publish.write_text(merged(text, rows), encoding="utf-8")
    return any("failed" in line for line in rows.values())


def make(home: Path, version: str) -> str:
    """An environment with a release and what the tests need; or why there is none, in one line."""
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, f"torch=={version}", "-e", f"{ROOT}[test]"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return next((line for line in reversed(done.stderr.splitlines()) if "ERROR" in line), "pip failed")[:100]
    done = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1][:100] if done.returncode else ""


def row(home: Path, version: str, parts: list[str]) -> str:
    """One line of the table: how many tests of each part passed."""
    python = home / "bin" / "python"
    spoken = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    cells = [told(home, name) if name in parts else "" for name in PARTS]
    return f"| {version} | {spoken} | {' | '.join(cells)} |"


def told(home: Path, part: str) -> str:
    """`123 passed, 1 failed` for one part; what failed goes to standard error."""
    results = home / f"{part}.xml"
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=short", f"--junitxml={results}"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [home / "bin" / "python", *command, *PARTS[part]],
        cwd=ROOT,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if not results.exists():
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return "failed to start"
    suite = ET.parse(results).getroot().find("testsuite")
    assert suite is not None
    total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    if failed:
        print(done.stdout, file=sys.stderr)
    shown = f"{total - skipped - failed} passed" if total > skipped else "skipped"
    return shown + (f", {failed} failed" if failed else "")


def merged(text: str, rows: dict[str, str]) -> str:
    """A page with some rows of its table replaced, oldest release first."""
    before, _, rest = text.partition(HEAD + "\n")
    table = re.match(r"(\|.*\n)*", rest)
    assert table is not None
    old = {line.split("|")[1].strip(): line for line in table[0].splitlines()[1:]}
    lines = sorted({**old, **rows}.items(), key=lambda item: [int(n) for n in item[0].split(".")])
    return (
        "\n".join([before + HEAD, "| --- | --- | --- | --- | --- | --- |", *(line for _, line in lines), ""])
        + rest[table.end() :]
    )


if __name__ == "__main__":
    raise SystemExit(main())
