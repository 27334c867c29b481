# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of remedy on whole programs: what is written first is what was meant."""

from __future__ import annotations

import pytest

from secondpass.remedies import attach
from secondpass.remedies.edit.patch import apply_edits

from .case import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_first_way_is_the_one_that_was_meant(case: Case) -> None:
    found = attach(case.finding, sources={"main.py": case.before}).remedies[0]
    assert apply_edits(case.before, list(found.edits)) == case.after


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_line_endings_survive(case: Case) -> None:
    before = case.before.replace("\n", "\r\n")
    found = attach(case.finding, sources={"main.py": before}).remedies[0]
    assert apply_edits(before, list(found.edits)) == case.after.replace("\n", "\r\n")
