# SPDX-License-Identifier: BSD-3-Clause
"""Edits are whole lines that can be applied again; nothing else of the text changes."""

from __future__ import annotations

import libcst as cst
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secondpass.record import Edit
from secondpass.remedies.edit.patch import Patch, apply_edits, diff_of, edits_of
from secondpass.remedies.edit.source import Source

_TEXT = st.lists(st.sampled_from(["", "a = 1", "    b = 2", "c", "# d"]), max_size=8)


@example(["", "", "a = 1", ""], ["a = 1", "", "    b = 2", "a = 1", ""], "\n", False)
@given(_TEXT, _TEXT, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_edits_lead_from_old_to_new(old: list[str], new: list[str], newline: str, last: bool) -> None:
    end = newline if last else ""
    before = newline.join(old) + (end if old and old[-1] else "")
    after = newline.join(new) + (end if new and new[-1] else "")
    if not before.strip() or not after.strip() or before.endswith(("\n", "\r")) != after.endswith(("\n", "\r")):
        return
    if newline == "\r\n" and "\r\n" not in before:
        return
    assert apply_edits(before, list(edits_of("m.py", before, after))) == after


def test_an_edit_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"m\.py:1"):
        apply_edits("x = 1\n", [Edit("m.py", 1, "y = 1", "y = 2")])


def test_a_blank_line_goes_with_a_neighbour() -> None:
    (edit,) = edits_of("m.py", "a\n\nb\n", "a\nb\n")
    assert edit.old, "an empty `old` means an insertion"
    assert apply_edits("a\n\nb\n", [edit]) == "a\nb\n"


def test_diff_names_every_file() -> None:
    text = diff_of({"a.py": "x\n", "b.py": "y\n"}, {"a.py": "z\n", "b.py": "w\n"})
    assert [line for line in text.splitlines() if line.startswith("+++")] == ["+++ b/a.py", "+++ b/b.py"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("before", "for x in y:\n  if a:\n    new()\n    b(); c()\n  d()\n"),
        ("after", "for x in y:\n  if a:\n    b(); c()\n    new()\n  d()\n"),
    ],
)
def test_what_stands_on_a_heads_own_line_goes_below_it(where, expected):
    source = Source("a.py", "for x in y:\n  if a: b(); c()\n  d()\n")
    statement = next(s for s in source.statements if source.code(s) == "b(); c()")
    patch = Patch()
    getattr(patch, f"insert_{where}")(source, statement, ["new()"])
    assert patch.result()["a.py"] == expected


def test_what_stands_on_a_heads_own_line_is_a_statement():
    source = Source("a.py", "def f(): return 1\nif a: b()\nelse: c()\n")
    assert [source.code(s) for s in source.statements if not isinstance(s, cst.BaseCompoundStatement)] == [
        "return 1", "b()", "c()"
    ]  # fmt: skip
    patch = Patch()
    patch.delete(source, source.statements[-1])
    assert patch.result()["a.py"].endswith("else: pass\n")
