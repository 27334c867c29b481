# SPDX-License-Identifier: BSD-3-Clause
"""What names hold when a pass begins: which tensors with history, and how many of them a container keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record import Binding, Holding, Path
from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode
from ..interpreter.values import Bound, Class, Dict, External, Function, List, Module, Native, Object, Tensor, Unknown
from .modules import inside, is_module, parameters
from .modules import modules as modules_in

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
        self.found: list[Binding] = []
        self.optimizers: dict[str, int] = {}
        """Their identities, by the paths that lead to them."""

    def names(self, names: dict[str, Any], scope: str, function: str) -> None:
        # Most names are those of functions, classes and plain values: this is the hottest loop of a reading.
        for name, value in [(n, v) for n, v in names.items() if type(v) not in _DULL or _gave(v)]:
            if name != "\0":
                self.value(value, Path(name, scope, (), _type(value)), function, 0)  # type: ignore[arg-type]

    def value(self, value: Any, path: Path, function: str, depth: int) -> None:
        if isinstance(value, (Tensor, Unknown)):
            if value.node is not None and (_gave(value) if isinstance(value, Unknown) else value.needs is not False):
                self.found.append(Binding(self.when, path, value.node.number, value.node.freed, function))
            return
        if isinstance(value, Object) and "leaves" in value.hidden:
            self.optimizers[path.name] = id(value)
            return
        if depth > DEEPEST or not isinstance(value, (list, tuple, dict, Object)) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, Object):
            if self.modules and value.cls.derives("torch.nn.Module"):
                for label, tensor in parameters(value).items():
                    if tensor.leaf is not None:
                        self.m.engine.held.add(tensor.leaf.node.number)
                        tensor.leaf.rename(f"{path.name}.{label}")
                self.unregistered(value, path)
            for attr, item in list(value.attrs.items()):
                self.value(item, path.then("attribute", attr, _type(item)), function, depth + 1)
            items = value.hidden.get("items")
            if items is not None and value.cls.derives("torch.nn.Module"):
                # Layers of the library keep no tensors of the program's.
                for label, item in inside(value):
                    if isinstance(item, Object) and item.cls.module is not None:
                        slot = label if isinstance(items, list) else f'"{label}"'
                        self.value(item, path.then("item", slot, _type(item)), function, depth)
            elif items is not None:
                self.value(items, path.then("item", "...", _type(items)), function, depth)
            return
        if isinstance(value, Dict) or (isinstance(value, List) and not value.forgets):
            self.holding(value, path)
        pairs: list[tuple[Any, Any]] = list(value.items() if isinstance(value, dict) else enumerate(value))
        if len(pairs) > WIDEST:  # what came first has been there the longest; what came last is what is used next
            pairs[WIDEST // 2 : -WIDEST // 2] = []
        for key, item in pairs:
            slot = f'"{key}"' if isinstance(key, str) else repr(key)
            self.value(item, path.then("item", slot, _type(item)), function, depth + 1)
        if isinstance(value, (Dict, List)):
            for item in value.others:
                self.value(item, path.then("item", "...", _type(item)), function, depth + 1)

    def unregistered(self, owner: Object, path: Path) -> None:
        """Notes the parameters that a module has in plain containers, and does not register."""
        registered = {id(inner) for _, inner in modules_in(owner)} | {id(p) for p in parameters(owner).values()}
        for attr, box in owner.attrs.items():
            if type(box) in (list, tuple, dict, List, Dict):
                items = list(_items(box, 0))
                for item in (i for i in items if id(i) not in registered):
                    if isinstance(item, Object) and item.attrs.get("training") is False:
                        continue  # switched to evaluation: not meant to be trained
                    inside = parameters(item).values() if isinstance(item, Object) else [item]
                    for number in (t.leaf.node.number for t in inside if t.leaf is not None):
                        self.m.engine.unregistered.setdefault(
                            number, (f"{path.name}.{attr}", str(owner.cls.name), len(items))
                        )

    def holding(self, box: Any, path: Path) -> None:
        found = list(_tensors(box, 0))
        if found:
            numbers, within = tuple(n.number for n, _ in found), any(w for _, w in found)
            self.m.engine.holdings.append(Holding(self.when, path, len(found), numbers, place=box.place, within=within))


def _gave(value: Any) -> bool:
    """Whether a value that is not read has history for certain."""
    return type(value) is Unknown and value.gave


def _type(value: Any) -> str:
    if isinstance(value, Object):
        if value.cls.derives("torch.utils.data.Dataset"):
            return "Dataset"
        return str(value.cls.name)
    return {List: "list", Dict: "dict", Unknown: "Tensor"}.get(type(value), type(value).__name__)


def _tensors(box: Any, depth: int, within: bool = False) -> Iterator[tuple[GraphNode, bool]]:
    """The nodes behind the tensors in a container, and whether each lies in something that was put in as a whole."""
    within = within or isinstance(box, tuple)
    for item in box.values() if isinstance(box, dict) else box:
        if isinstance(item, (Tensor, Unknown)):
            if item.node is not None and (item.needs if isinstance(item, Tensor) else item.walked):
                yield item.node, within
        elif isinstance(item, (list, tuple, dict)) and depth < 2 and not getattr(item, "forgets", False):
            yield from _tensors(item, depth + 1, within)
        elif isinstance(item, Object) and "training" not in item.attrs and "leaves" not in item.hidden and depth < 2:
            yield from _tensors(item.attrs, depth + 2, True)
    if isinstance(box, Dict):
        yield from _tensors(box.others, depth + 1, within)


def _items(box: Any, depth: int) -> Iterator[Any]:
    """The modules and parameters in a container, and in containers in it."""
    for item in [*(box.values() if isinstance(box, dict) else box), *(box.others if isinstance(box, Dict) else ())]:
        if is_module(item) or (isinstance(item, Tensor) and item.is_param):
            yield item
        elif isinstance(item, (list, tuple, dict)) and depth < 1:
            yield from _items(item, depth + 1)


def look(m: Machine, modules: bool = False) -> dict[str, int]:
    """Notes what the names of all frames hold, at the beginning of the next event; returns the optimizers that they lead to, as
    their places among all of them."""
    view = _Look(m, modules)
    if modules:
        m.engine.held.clear()
        m.engine.unregistered.clear()
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
    unique = {(b.path, b.number): b for b in reversed(view.found)}
    m.engine.bindings.extend(reversed(list(unique.values())))
    places = {identity: place for place, identity in enumerate(m.engine.owners)}
    return {name: places[identity] for name, identity in view.optimizers.items() if identity in places}
