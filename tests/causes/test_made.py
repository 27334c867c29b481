# SPDX-License-Identifier: BSD-3-Clause
"""What values were made of, in statements that ran many times: each is asked about once, however many ways lead to it."""

from __future__ import annotations

import ast

import pytest

from secondpass.causes.facts.cut import Search
from secondpass.causes.facts.executed import Call, Run
from secondpass.record import Place
from secondpass.source import Source

PROGRAM = """\
class Parts(NamedTuple):
    policy: object
    value: object

box.kept = first(1)
parts = Parts(second(2), value=third(3))
box.kept = fourth(4)
box.kept.append(fifth(5))
a = b = start
a = step(a, b)
b = step(b, a)
"""


def runs_of(turns: int) -> list[Run]:
    """The lines of the program as they ran: the last two in a loop of so many turns."""
    source = Source(ast.parse(PROGRAM))
    call = Call(None)
    for row in (5, 6, 7, 8, 9, *(row for _ in range(turns) for row in (10, 11))):
        stmt = source.statement(row)
        assert stmt is not None
        call.body.append(Run(Place("main.py", row), stmt, source, call, 0, 0, len(call.body)))
    return call.body


def test_what_many_flows_meet_is_looked_for_once(monkeypatch):
    runs = runs_of(40)
    search = Search(runs)
    asked: list[tuple[int, int, object]] = []
    looked_for = search.values._made
    monkeypatch.setattr(
        search.values, "_made", lambda *part: asked.append((id(part[0]), id(part[1]), part[2])) or looked_for(*part)
    )
    for k, one in enumerate(runs[5:], 1):
        behind = {r.position for r in search.behind(one.node.value, one)}
        assert behind == set(range(4, 4 + k))
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("path", "before", "made"),
    [
        ("any.kept", 3, ["fourth(4)"]),
        ("any.kept", 1, ["first(1)"]),
        ("any.kept", 0, None),
        ("any.kept", 9, ["fifth(5)", "fourth(4)"]),
        ("any.policy", 9, ["second(2)"]),
        ("any.value", 2, ["third(3)"]),
        ("any.value", 1, None),
        ("any.other", 9, None),
    ],
)
def test_an_attribute_is_what_was_given_last_whatever_the_object_is_called(path, before, made):
    runs = runs_of(10)
    found = Search(runs).values.made(ast.parse(path, mode="eval").body, runs[before], ())
    assert (found and [ast.unparse(e) for e, _, _ in found]) == made
