# SPDX-License-Identifier: BSD-3-Clause
"""Fixes of `check`: remedies become edits, edits are applied, and what was written is read again."""

from __future__ import annotations

import io
import sys
import tokenize
from pathlib import Path

from ..check import Settings, read
from ..record import Edit, Finding, Report

__all__ = ["attach_all", "fix"]

ROUNDS = 5
"""A fix can bring the next fault to light; then the files are read again, at most this often."""


def attach_all(findings: list[Finding]) -> list[Finding]:
    """The findings with the edits of every remedy filled in."""
    if not findings:
        return findings
    from ..remedies import attach

    sources: dict[str, str] = {}
    for finding in findings:
        for place in (finding.failed, finding.built, finding.freed, finding.used):
            if place is not None and place.file not in sources and place.file.endswith(".py"):
                text = _read(place.file)
                if text is not None:
                    sources[place.file] = text
    return [_attached(attach, f, sources) for f in findings]


def _attached(attach, finding: Finding, sources: dict[str, str]) -> Finding:  # type: ignore[no-untyped-def]
    if finding.failed is not None and finding.failed.file.endswith(".ipynb"):
        return finding
    made: Finding = attach(finding, sources=sources)
    return made


def _read(file: str) -> str | None:
    try:
        data = Path(file).read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (OSError, UnicodeDecodeError, SyntaxError, LookupError):
        return None


def chosen(finding: Finding, unsafe: bool) -> tuple[Edit, ...]:
    """The edits to apply: those of the first remedy that has any, if it may be applied unasked."""
    for remedy in finding.remedies:
        if remedy.edits:
            return remedy.edits if remedy.safe or unsafe else ()
    return ()


def fix(report: Report, paths: list[str], settings: Settings, *, unsafe: bool, write: bool) -> Report:
    """Applies fixes (or prints them as a diff) and returns what is left to report."""
    fixed = 0
    since: dict[Path, bytes] = {}
    refused: set[str] = set()
    for _ in range(ROUNDS):
        done = _round(report, unsafe, write, since, refused)
        fixed += done
        if not done or not write:
            break
        report = read(paths, settings)
    books = sum(f.failed is not None and f.failed.file.endswith(".ipynb") for f in report.findings)
    if books:
        print(f"Notebooks are not fixed: {books} of these stand in one.", file=sys.stderr)
    if fixed and write:
        taken_back = "`secondpass fix --undo` takes it back"
        print(f"Fixed {fixed} fault{'s' * (fixed != 1)}; {taken_back}.", file=sys.stderr)
    return report


def _round(report: Report, unsafe: bool, write: bool, since: dict[Path, bytes], refused: set[str]) -> int:
    from ..remedies.edit.patch import apply_edits, diff_of
    from ..remedies.edit.write import Refused
    from ..remedies.edit.write import write as write_files

    texts: dict[str, str] = {}
    before: dict[str, str] = {}
    done = 0
    touched: set[str] = set()
    for finding in report.findings:
        edits = chosen(finding, unsafe)
        files = {e.file for e in edits}
        # One fix per file and round: a second one was made for text that the first has changed.
        if not edits or files & touched:
            continue
        try:
            old = {file: _known(file) for file in files}
            new = {file: apply_edits(old[file], [e for e in edits if e.file == file]) for file in files}
        except ValueError:
            continue
        touched |= files
        if write:
            try:
                write_files(Path.cwd(), old, new, since)
            except Refused as reason:
                if str(reason) not in refused:
                    print(f"secondpass check --fix: {reason}. The patch:\n{diff_of(old, new)}", file=sys.stderr)
                refused.add(str(reason))
                continue
        before |= old
        texts |= new
        done += 1
    if not write and texts:
        print(diff_of(before, texts), end="")
    return done


def _known(file: str) -> str:
    text = _read(file)
    if text is None:
        raise ValueError(f"{file} cannot be read")
    return text
