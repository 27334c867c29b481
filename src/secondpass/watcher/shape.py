# SPDX-License-Identifier: BSD-3-Clause
"""What a pass's graph is made of, in numbers that two runs of a program have alike.

NOTE [ The shape of a graph ]
1. A node is old where a pass that frees has walked it, else it is fresh. Numbers are kept of old nodes, never nodes.
2. `fresh`: how often each operation occurs among the fresh nodes from which fresh nodes lead to what a player trains. A repair
   that cuts old history off leaves all of them where they are. What joins the old part to the new one (`total + loss`) is
   left out: it goes with what it joins.
3. `pure`: those of them from which nothing old can be reached. Left out is what scales one number (`total / n`): it goes with
   the sum.
4. `whole`: the same for old and fresh nodes together, `old` for the old ones; a forward that is run again has all of them.
5. `turn`: the fresh ones that were built since the player's last step. What is older and no pass has walked yet (the end of a
   state, behind the last loss that it went into) goes with a cut behind that step.
6. A player is an optimizer, or HAND: leaves that nobody's optimizer owns and that an earlier pass has met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..torchgraph import LEAF, edges, is_leaf, touchable, walk_young

__all__ = ["HAND", "Shapes"]

HAND = -1
_OLD = 2_000_000
_NODES = 1_000_000
"""So many nodes are counted in one run; a graph that was not counted is not compared."""
_SCALING = {"MulBackward0", "DivBackward0"}


class Shapes:
    """Reads the graphs of one run, pass after pass."""

    def __init__(self) -> None:
        self._old: set[int] = set()
        self._met: set[int] = set()
        self._left = _NODES
        self._since: dict[int, int] = {}
        """The number that the next node had when a player stepped last."""

    def stepped(self, player: int, number: int) -> None:
        self._since[player] = number

    def of(
        self,
        roots: Iterable[Any],
        number: Callable[[Any], int],
        owners: Callable[[int], Iterable[tuple[int, int]]],
        inputs: tuple[int, ...] | None,
        frees: bool,
    ) -> dict[str, Any]:
        """The shape of the graph behind some roots, and which parameters lie there.

        :param number: the number of a node; of a leaf, by which its owners are known
        :param owners: the optimizers and places of a leaf
        :param inputs: what the pass stops at, where it does
        """
        limit = touchable()
        nodes = walk_young(edges(roots), limit)
        numbers = {node: number(node) for node in nodes}
        behind: set[tuple[int, int]] = set()
        players: dict[Any, set[int]] = {}
        for node in nodes:
            if is_leaf(node) and (inputs is None or numbers[node] in inputs):
                owned = list(owners(numbers[node]))
                behind.update(owned)
                players[node] = {o for o, _ in owned} or ({HAND} if numbers[node] in self._met else set())
        self._met.update(n for n in numbers.values() if n < 0)
        found: dict[str, Any] = {"behind": sorted(behind)}
        self._left -= len(nodes)
        if len(nodes) < limit and self._left > 0:
            found |= self._shape(nodes, numbers, players)
            if frees and len(self._old) < _OLD:
                self._old |= _walked(nodes, numbers, inputs)
        return found

    def _shape(self, nodes: dict[Any, Any], numbers: dict[Any, int], players: dict[Any, set[int]]) -> dict[str, Any]:
        fresh, whole, turn = dict(players), dict(players), dict(players)
        touches: dict[Any, bool] = dict.fromkeys(players, False)
        counts: dict[str, dict[int, Counter[str]]] = {"fresh": {}, "pure": {}, "turn": {}, "whole": {}, "old": {}}
        for node in _inputs_first(nodes):
            if is_leaf(node):
                continue
            parents, old = nodes[node], numbers[node] in self._old
            joins = any(numbers[p] in self._old for p in parents)
            whole[node] = set().union(*(whole.get(p, ()) for p in parents))
            fresh[node] = set() if old else set().union(*(fresh.get(p, ()) for p in parents))
            since = {p: self._since.get(p, 0) for p in fresh[node]}
            turn[node] = {
                p for p in set().union(*(turn.get(q, ()) for q in parents)) & set(since) if numbers[node] >= since[p]
            }
            touches[node] = joins or any(touches.get(p, False) for p in parents)
            name = node.name()
            pure = not touches[node] and not (len(parents) == 1 and name in _SCALING and _is_number(node))
            kinds = ["whole"] + ["old"] * old + ["fresh"] * (not joins) + ["pure"] * pure
            for kind in kinds:
                for player in whole[node] if kind in ("whole", "old") else fresh[node]:
                    counts[kind].setdefault(player, Counter())[name] += 1
            for player in () if joins else turn[node]:
                if not any(0 <= numbers[q] < since[player] for q in parents if not is_leaf(q)):
                    counts["turn"].setdefault(player, Counter())[name] += 1
        return {kind: {str(p): dict(c) for p, c in by.items()} for kind, by in counts.items()}


def _is_number(node: Any) -> bool:
    return all(not tuple(m.shape) for m in node._input_metadata)


def _inputs_first(nodes: dict[Any, tuple[Any, ...]]) -> list[Any]:
    """The nodes in an order in which each comes behind what it was made from."""
    order: list[Any] = []
    done: set[Any] = set()
    for top in nodes:
        todo = [(top, False)]
        while todo:
            node, ready = todo.pop()
            if ready:
                order.append(node)
            elif node not in done:
                done.add(node)
                todo.append((node, True))
                todo.extend((p, False) for p in nodes[node] if p in nodes and p not in done)
    return order


def _walked(nodes: dict[Any, tuple[Any, ...]], numbers: dict[Any, int], inputs: tuple[int, ...] | None) -> set[int]:
    """The numbers of what a pass walks: all, or what leads to its inputs."""
    if inputs is None:
        return {n for n in numbers.values() if 0 <= n != LEAF}
    leading: set[Any] = set()
    for node in _inputs_first(nodes):
        if numbers[node] in inputs or any(p in leading for p in nodes[node]):
            leading.add(node)
    return {numbers[node] for node in leading if 0 <= numbers[node] != LEAF}
