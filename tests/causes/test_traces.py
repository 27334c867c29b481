# SPDX-License-Identifier: BSD-3-Clause
"""Causes read traces of any producer: stored ones, poor ones, broken ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondpass.causes import CAUSES, diagnose
from secondpass.record import Failure, Node, Pass, Place, Trace, from_plain, to_plain

from .test_found import CASES, traced

CHOSEN = [path for path in CASES if not path.stem.startswith("clean")]


@cache
def trace_of(path: Path) -> Trace:
    return traced(path)


def test_nothing_is_found_in_an_empty_trace():
    assert diagnose(Trace()) == ()


@pytest.mark.parametrize("path", CHOSEN, ids=lambda p: p.stem)
def test_a_stored_trace_says_the_same(path, capsys):
    trace = trace_of(path)
    stored = json.dumps(to_plain(trace))
    assert diagnose(from_plain(Trace, json.loads(stored))) == diagnose(trace)


# What a poorer producer would not know.
POORER: dict[str, Callable[[Trace], Trace]] = {
    "no source": lambda t: replace(t, sources={}),
    "no names": lambda t: replace(t, bindings=(), holdings=()),
    "no loops": lambda t: replace(
        t,
        nodes={n: replace(v, loops=None) for n, v in t.nodes.items()},
        passes=tuple(replace(p, loops=None) for p in t.passes),
    ),
    "no walks": lambda t: replace(t, passes=tuple(replace(p, walked=None) for p in t.passes)),
    "no places of nodes": lambda t: replace(t, nodes={n: replace(v, place=None, stack=()) for n, v in t.nodes.items()}),
    "no nodes": lambda t: replace(t, nodes={}),
    "no optimizers": lambda t: replace(t, owners=(), steps=(), clears=()),
    "no writes and cuts": lambda t: replace(t, writes=(), cuts=()),
    "one pass only": lambda t: replace(t, passes=t.passes[-1:]),
}


@pytest.mark.parametrize("poorer", POORER)
@pytest.mark.parametrize("path", CHOSEN, ids=lambda p: p.stem)
def test_a_poorer_trace_is_read_all_the_same(path, poorer, capsys):
    for finding in diagnose(POORER[poorer](trace_of(path))):
        assert finding.cause in CAUSES
        assert "None" not in finding.message


@given(path=st.sampled_from(CHOSEN), data=st.data())
def test_a_torn_trace_is_read_all_the_same(path, data):
    whole = trace_of(path)
    kept = data.draw(st.sets(st.sampled_from(sorted(whole.nodes)))) if whole.nodes else set()
    torn = replace(
        whole,
        nodes={n: v for n, v in whole.nodes.items() if n in kept},
        passes=tuple(p for p in whole.passes if data.draw(st.booleans())),
        bindings=whole.bindings[:: data.draw(st.integers(1, 5))],
        steps=whole.steps[: data.draw(st.integers(0, len(whole.steps)))],
    )
    assert all(finding.cause in CAUSES for finding in diagnose(torn))


def made(**second: object) -> Trace:
    """Two passes by hand: the first frees nodes 0 and 1, the second comes again to node 0, by way of the new node 2."""
    first, again = Place("train.py", 8), Place("train.py", 9)
    leaf = Node(-1, "AccumulateGrad", (), (), leaf="weight")
    nodes = [
        Node(0, "TanhBackward0", (-1,), ("result",), place=Place("train.py", 4), when=-1, freed=True),
        Node(1, "PowBackward0", (0,), ("self",), place=Place("train.py", 5), when=-1, freed=True),
        Node(2, "ExpBackward0", (0,), ("result",), place=Place("train.py", 6), when=-1, freed=False),
    ]
    passes = (
        Pass(0, roots=(1,), place=first, stack=(first,), walked=frozenset({-1, 0, 1}), loops=()),
        Pass(1, roots=(2,), place=again, stack=(again,), walked=frozenset({2}), outcome="failed", loops=()),
    )
    failure = Failure(1, "backward-twice", node=0, place=again, stack=(again,))
    text = "\n" * 3 + "h = torch.tanh(w)\na = h**2\nb = h.exp()\n\na.sum().backward()\nb.sum().backward()\n"
    return replace(
        Trace(
            {n.number: n for n in [leaf, *nodes]}, passes, failures=(failure,), ended=False, sources={"train.py": text}
        ),
        **second,  # type: ignore[arg-type]
    )


def test_a_trace_by_hand():
    [finding] = diagnose(made())
    assert (finding.cause, finding.severity) == ("shared-forward", "error")
    assert [p and p.line for p in (finding.built, finding.freed, finding.used, finding.failed)] == [4, 8, 9, 9]
    assert finding.carrier is not None
    assert finding.carrier.name == "h"
    assert [r.kind for r in finding.remedies] == ["combine-losses", "retain-graph"]


def test_the_same_caught_is_a_warning():
    [finding] = diagnose(made(failures=(replace(made().failures[0], swallowed=True),), ended=True))
    assert (finding.cause, finding.severity) == ("swallowed-error", "warning")
    assert finding.facts["swallowed"] == "shared-forward"
    assert "once" in finding.message


def test_what_was_retained_is_not_spent():
    kept = made()
    passes = (replace(kept.passes[0], retain=True), replace(kept.passes[1], outcome="ok", walked=frozenset({-1, 0, 2})))
    assert diagnose(replace(kept, passes=passes, failures=(), ended=True)) == ()


def test_causes_need_neither_torch_nor_numpy():
    code = (
        "import sys; sys.modules.update(torch=None, numpy=None)\n"
        "from secondpass.causes import CAUSES, diagnose\n"
        "from secondpass.record import Trace\n"
        "assert len(CAUSES) == 25 and diagnose(Trace()) == ()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
