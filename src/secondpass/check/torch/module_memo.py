# SPDX-License-Identifier: BSD-3-Clause
"""Calling the same module again: the second call of a network need not be read operation by operation.

NOTE [ When a call is told in one node ]
1. The first call of a module is read in full. If it changed nothing but the graph, asked no open question, and what it
   gave back is one tensor whose history is wholly known, it is remembered: which parameters and inputs it reached, and
   what was saved of parameters.
2. A later call with inputs of the same kind becomes one node with those edges and buffers, at the place of the last
   operation. What went wrong inside would have gone wrong the first time.
3. Any assignment to an attribute of a module, and any change of which parameters gather gradients, forgets everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode
from ..interpreter.values import Object, Tensor, Unknown, serials
from .edges import edges
from .modules import parameters

__all__ = ["remembered"]

WORTH = 4
"""Nodes below which a call is read again: telling it in one node would save nothing."""


class _Kept:
    __slots__ = ("inputs", "leaves", "node", "op", "saves")

    def __init__(
        self, node: GraphNode, op: str, leaves: list[Tensor], inputs: list[int], saves: list[tuple[str, Any]]
    ) -> None:
        self.node = node
        self.op = op
        """The last operation with a parameter: a network is no view, sum or product, even where it ends with one."""
        self.leaves = leaves
        self.inputs = inputs
        """Positions of the arguments that the result comes from."""
        self.saves = saves
        """(name, parameter or position of the argument) of what was saved of parameters and arguments."""


def remembered(m: Machine, owner: Object, args: list[Any], kwargs: dict[str, Any], act: Callable[[], Any]) -> Any:
    """The result of `act`, which calls a module with these arguments."""
    values = [*args, *kwargs.values()]
    key = _key(m, owner, values, tuple(kwargs))
    if key is None:
        return act()
    kept = m.memo.get(key)
    if kept is not None:
        return _again(m, kept, values)
    start, born, before = len(m.engine.nodes), next(serials), _state(m)
    result = act()
    if (
        isinstance(result, Tensor)
        and result.node is not None
        and result.node.number >= start + WORTH
        and _state(m)[2:] == before[2:]
        and all(n > born for n in m.changes[before[0] :])
        and all(n > born for _, n, _ in m.engine.writes[before[1] :])
    ):
        made = _summary(result.node, start, values)
        if made is not None:
            m.memo[key] = made
            m.keep.append(owner)
    return result


def _state(m: Machine) -> tuple[int, ...]:
    engine = m.engine
    counts = (len(engine.passes), len(engine.cuts), len(engine.leaves), m.policy.asked)
    return (len(m.changes), len(engine.writes), *counts)


def _key(m: Machine, owner: Object, values: list[Any], words: tuple[str, ...]) -> Any:
    kinds: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            kinds.append((value.needs, value.leaf is not None))
        elif isinstance(value, Unknown) and value.plain:
            kinds.append("plain")
        elif value is None or isinstance(value, (int, float, str, bool)):
            kinds.append(value)
        else:
            return None
    return id(owner), m.grad, _frozen(m, owner), tuple(kinds), words


def _frozen(m: Machine, owner: Object) -> tuple[Any, ...]:
    """Which parameters of a module do not gather gradients."""
    if not m.settings:
        return ()
    key = ("frozen", id(owner), m.settings)
    found: tuple[str, ...] | None = m.memo.get(key)
    if found is None:
        found = m.memo[key] = tuple(n for n, p in parameters(owner).items() if p.needs is not True)
        m.keep.append(owner)
    return found


def _summary(root: GraphNode, start: int, values: list[Any]) -> _Kept | None:
    """What lies behind a result, down to where the call began; None where that is not wholly known."""
    given: dict[int, int] = {}
    stores: dict[int, int] = {}
    for position, value in enumerate(values):
        if isinstance(value, Tensor):
            given[id(value.node if value.node is not None else value.leaf)] = position
            stores[id(value.store)] = position
    leaves: dict[int, Tensor] = {}
    inputs: set[int] = set()
    saves: dict[int, tuple[str, Any]] = {}
    speaks = root
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        source = given.get(id(node if node.leaf is None else node.leaf))
        if source is not None:
            inputs.add(source)
        elif node.leaf is not None:
            leaves[id(node.leaf)] = node.leaf.tensor
        elif node.number < start or node.maybe or node.opaque or node.vague or node.unsure:
            return None
        else:
            speaks = max(speaks, node, key=_weight)
            todo.extend(node.parents)
            for name, tensor, store, version in node.keeps:
                if store.doubt > node.number or store.count != version:
                    return None
                if id(store) in stores:
                    saves[id(store)] = (name, stores[id(store)])
                elif store.leaf is not None:
                    saves[id(store)] = (name, tensor)
    return _Kept(root, speaks.name_, list(leaves.values()), sorted(inputs), list(saves.values()))


def _weight(node: GraphNode) -> tuple[bool, bool, int]:
    return any(store.leaf is not None for _, _, store, _ in node.keeps), bool(node.saved), node.number


def _again(m: Machine, kept: _Kept, values: list[Any]) -> Tensor:
    needs, certain, maybe = edges([*(values[i] for i in kept.inputs), *kept.leaves])
    own = m.stack()
    inner = kept.node.stack[: max(0, len(kept.node.stack) - len(own))]
    node = m.engine.node(kept.op, certain, maybe, kept.node.place, (*inner, *own))
    node.loops = m.loops()
    saved = [(name, values[t] if isinstance(t, int) else t) for name, t in kept.saves]
    node.save(dict.fromkeys((*(kept.node.saves or ("self",)), *(name for name, _ in saved))), saved)
    return Tensor(needs, node)
