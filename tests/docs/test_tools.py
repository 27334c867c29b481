# SPDX-License-Identifier: BSD-3-Clause
"""The tests of the pages can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from .blocks import Block, blocks, matches, renewed, sessions
from .test_blocks import check, run_python


def test_blocks_are_found_with_their_lines():
    page = 'a\n\n```python title="x.py"\n1\n```\n\n    ```text\n    2\n    ```\n````sh\n```\n````\n'
    assert blocks(page) == [
        Block("python", "x.py", "1\n", 3),
        Block("text", "", "2\n", 7),
        Block("sh", "", "```\n", 10),
    ]


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("a b", "a b", True),
        ("a b", "a c", False),
        ("a ... d", "a b c d", True),
        ("... d", "d", True),
        ("a ...", "a b", True),
        ("a ... d", "a b c", False),
        ("", "a", False),
    ],
)
def test_dots_stand_for_lines(expected, got, same):
    assert matches(expected.split(), got.split()) is same


@pytest.mark.parametrize(
    ("expected", "got", "page"),
    [("a b", "c d", "c d"), ("a ... S1 y", "a b S1 z", "a ... S1 z"), ("a ...", "a b", "a ..."), ("", "a", "a")],
)
def test_pages_are_renewed(expected, got, page):
    assert renewed(expected.split(), got.split()) == page.split()


def test_a_console_block_begins_with_a_command():
    with pytest.raises(ValueError, match="begins with"):
        sessions(Block("console", "", "output\n", 1))


@pytest.mark.parametrize(
    "block",
    [
        Block("console", "", "$ python -c 'print(1)'\n2\n", 1),
        Block("sh", "", "pip install secondpass[nothing]\n", 1),
        Block("sh", "", "rm -rf x\n", 1),
        Block("json", "", "{", 1),
        Block("", "", "x\n", 1),
        Block("rust", "", "x\n", 1),
        Block("python", "examples/carried_state.py", "pass\n", 1),
    ],
)
def test_a_wrong_block_fails(block, tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        check(block, tmp_path)


def test_a_wrong_program_fails_at_its_line(tmp_path):
    with pytest.raises(AssertionError, match="line 6"):
        run_python(
            [Block("python", "", "x = 1\n", 2), Block("python", "", "assert x == 2\n", 5)], Path("p.md"), tmp_path
        )
