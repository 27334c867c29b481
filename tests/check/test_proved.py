# SPDX-License-Identifier: BSD-3-Clause
"""Random programs, read by `check` and run on the specification: what it is certain of is so. `make prove` has more of them."""

from __future__ import annotations

import random

import pytest

from secondpass.check.interpreter.nodes import GraphNode, Leaf

from ..prove.reading import compare


def verdicts(count: int) -> tuple[list[str], int]:
    """What was said and is not so, and how many failing statements were told."""
    draw = random.Random(11)
    wrong, told = [], 0
    for _ in range(count):
        program = [(draw.randrange(100), draw.getrandbits(32)) for _ in range(draw.randrange(4, 25))]
        verdict = compare(program)
        told += verdict.told
        if verdict.wrong:
            wrong.append("\n".join([*verdict.shown, verdict.wrong]))
    return wrong, told


def test_what_is_certain_is_so():
    wrong, told = verdicts(150)
    assert wrong == []
    assert told > 20


@pytest.mark.parametrize("fault", ["never freed", "always changed", "never filled"])
def test_the_comparison_notices(fault, monkeypatch):
    if fault == "never freed":
        monkeypatch.setattr(GraphNode, "release", lambda self, walk: None)
    elif fault == "always changed":
        monkeypatch.setattr(GraphNode, "lost", lambda self, entry: "changed" if entry[3] is not None else None)
    else:
        monkeypatch.setattr(Leaf, "fill", lambda self, when: None)
    wrong, _ = verdicts(60)
    assert wrong
