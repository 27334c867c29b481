# SPDX-License-Identifier: BSD-3-Clause
"""What a trace can be asked."""

from __future__ import annotations

from secondpass.record import Node, Pass, Trace

NODES = {
    -1: Node(-1, "AccumulateGrad", (), leaf="w"),
    0: Node(0, "MulBackward0", (-1, -1)),
    1: Node(1, "TanhBackward0", (0,)),
    2: Node(2, "AddBackward0", (1, 0, 99)),
}


def test_history_comes_once_per_node_and_skips_the_unknown():
    assert sorted(n.number for n in Trace(nodes=NODES).history(2)) == [-1, 0, 1, 2]
    assert next(Trace(nodes=NODES).history(2)).number == 2


def test_unknown_parents_are_not_no_parents():
    assert list(Trace(nodes={5: Node(5, "X")}).history(5)) == [Node(5, "X")]


def test_history_of_a_long_chain_needs_no_stack():
    many = {i: Node(i, "AddBackward0", (i - 1,)) for i in range(100_000)}
    assert sum(1 for _ in Trace(nodes=many).history(99_999)) == 100_000


def test_a_pass_is_found_by_its_moment():
    trace = Trace(passes=(Pass(3), Pass(7, retain=True)))
    assert trace.at(7) == Pass(7, retain=True)
    assert trace.at(4) is None
    assert Pass(3).frees
    assert not trace.at(7).frees
