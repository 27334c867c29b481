# SPDX-License-Identifier: BSD-3-Clause
"""What names hold when a pass begins: which tensors with history, and how many of them a container keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..record import Holding, Sighting
from .machine import Machine
from .nodes import GraphNode
from .values import Bound, Class, Dict, External, Function, List, Module, Native, Object, Tensor, Unknown

if TYPE_CHECKING:
    from . import layers as _layers

__all__ = ["look"]

DEEPEST = 3
WIDEST = 24
_DULL = frozenset({Function, Class, External, Native, Bound, Unknown, Module, str, int, float, bool, type(None)})
"""Kinds of values that hold no tensor."""


class _Look:
    def __init__(self, m: Machine, modules: bool) -> None:
        self.m = m
        self.modules = modules
        self.when = m.engine.clock
        self.seen: set[int] = set()
        self.found: list[Sighting] = []

    def names(self, names: dict[str, Any], kind: str, function: str) -> None:
        # Most names are those of functions, classes and plain values: this is the hottest loop of a reading.
        for name, value in [(n, v) for n, v in names.items() if type(v) not in _DULL]:
            if name != "\0":
                self.value(value, name, kind, function, (name,), 0)

    def value(self, value: Any, name: str, kind: str, function: str, chain: tuple[str, ...], depth: int) -> None:
        if isinstance(value, Tensor):
            if value.node is not None and value.needs is not False:
                self.found.append(Sighting(self.when, name, kind, value.node.number, value.node.spent, function))
            return
        if depth > DEEPEST or not isinstance(value, (list, tuple, dict, Object)) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, Object):
            if "leaves" in value.hidden:
                return
            if self.modules and value.cls.derives("torch.nn.Module"):
                for label, tensor in _layers.parameters(value).items():
                    if tensor.leaf is not None:
                        self.m.engine.held.add(tensor.leaf.node.number)
                        tensor.leaf.rename(f"{name}.{label}")
            for attr, item in list(value.attrs.items()):
                self.value(item, f"{name}.{attr}", "attribute", function, (*chain, f".{attr}"), depth + 1)
            items = value.hidden.get("items")
            if items is not None and not value.cls.derives("torch.nn.Module"):
                self.value(items, f"{name}[...]", kind, function, (*chain, "[...]"), depth)
            return
        if isinstance(value, (List, Dict)):
            self.holding(value, name, kind, chain)
        # A tuple is several values under one name, not something that things are put into.
        inner = kind if isinstance(value, tuple) else "slot"
        pairs: Iterator[tuple[Any, Any]] = iter(value.items() if isinstance(value, dict) else enumerate(value))
        for count, (key, item) in enumerate(pairs):
            if count >= WIDEST:
                break
            slot = f"[{key!r}]" if not isinstance(key, str) else f'["{key}"]'
            self.value(item, name + slot, inner, function, (*chain, slot), depth + 1)
        if isinstance(value, Dict):
            for item in value.others:
                self.value(item, f"{name}[...]", "slot", function, (*chain, "[...]"), depth + 1)

    def holding(self, box: Any, name: str, kind: str, chain: tuple[str, ...]) -> None:
        inside = list(_tensors(box, 0))
        if len(inside) < 1:
            return
        self.m.engine.holdings.append(
            Holding(
                self.when,
                name,
                kind,
                len(inside),
                chain,
                min(n.number for n in inside),
                nodes=None,
                live=any(_alive(n) for n in inside[:8]),
                place=box.place,
            )
        )


def _tensors(box: Any, depth: int) -> Iterator[GraphNode]:
    for item in box.values() if isinstance(box, dict) else box:
        if isinstance(item, Tensor) and item.node is not None and item.needs:
            yield item.node
        elif isinstance(item, (list, tuple, dict)) and depth < 2:
            yield from _tensors(item, depth + 1)
        elif isinstance(item, Object) and "training" not in item.attrs and "leaves" not in item.hidden and depth < 2:
            yield from _tensors(item.attrs, depth + 2)
    if isinstance(box, Dict):
        yield from _tensors(box.others, depth + 1)


def _alive(node: GraphNode) -> bool:
    """Whether buffers are still held behind a node."""
    todo, seen = [node], set()
    while todo and len(seen) < 200:
        here = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        if here.saved and not here.spent and here.leaf is None:
            return True
        todo.extend(here.parents)
    return False


def look(m: Machine, modules: bool = False) -> None:
    """Notes what the names of all frames hold, at the beginning of the next event."""
    view = _Look(m, modules)
    if modules:
        m.engine.held.clear()
    tops: set[str] = set()
    for frame in reversed(m.frames):
        module, scope = frame.module, frame.scope
        if scope.vars is module.globals:
            tops.add(module.file)
        view.names(scope.vars, "global" if scope.vars is module.globals else "local", frame.function)
        above = scope.above
        while above is not None:
            view.names(above.vars, "cell", frame.function)
            above = above.above
    for file, module in m.modules.items():
        if file not in tops:
            view.names(module.globals, "global", "<module>")
    unique = {(s.name, s.number, s.kind): s for s in reversed(view.found)}
    m.engine.sightings.extend(reversed(list(unique.values())))
