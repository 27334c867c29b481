# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs: the expectation stands beside the line, `# SP103`; a program without one must be silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from secondpass.check import Settings, read

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def expected(file: Path) -> set[tuple[str, int]]:
    lines = file.read_text("utf-8").splitlines()
    return {(m.group(1), n) for n, line in enumerate(lines, 1) for m in re.finditer(r"# (SP\d{3})\b", line)}


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda f: f.stem)
def test_what_is_found_is_what_stands_beside_the_line(file: Path) -> None:
    report = read([file], Settings(jobs=1))
    assert {(f.code, f.failed.line) for f in report.findings if f.failed} == expected(file)
    assert not report.notes


def test_every_cause_that_can_be_read_has_a_program() -> None:
    from secondpass.causes import CAUSES

    found = {code for file in PROGRAMS for code, _ in expected(file)}
    # freed-access, silent-reuse and unreached-parameter have their programs in `test_interpreter`.
    by_runs_only = {"SP501", "SP503", "SP504", "SP505", "SP506"}  # what goes on between processes, and in memory
    assert found | by_runs_only | {"SP108", "SP110", "SP406"} == {c.code for c in CAUSES.values()}
