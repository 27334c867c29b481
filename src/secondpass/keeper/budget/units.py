# SPDX-License-Identifier: BSD-3-Clause
"""Units: the parts of a model by which its saved tensors are held or computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from ..place import warn

__all__ = ["UnitPolicy", "Units", "choose_units"]

UnitPolicy = Callable[[nn.Module], bool]
_CONTAINERS = (nn.ModuleList, nn.Sequential, nn.ModuleDict)
_UNCALLED = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
"""They have no forward: nobody ever calls them."""


class Units:
    """The chosen parts of one model, by name."""

    def __init__(self, parts: list[tuple[str, nn.Module]], asked: bool) -> None:
        self.parts = parts
        self._asked = asked
        """The user has chosen them."""
        self._ran: set[str] | None = set()

    def ran(self, name: str) -> None:
        if self._ran is not None:
            self._ran.add(name)

    def warn(self) -> None:
        """After the first call: a unit that never ran was chosen by mistake."""
        ran, self._ran = self._ran, None
        if ran is None or not self._asked:
            return
        idle = [name for name, _ in self.parts if name not in ran]
        if idle:
            more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
            warn(
                f"secondpass.keep: {'unit' if len(idle) == 1 else 'units'} {', '.join(f'`{name}`' for name in idle[:3])}"
                f"{more} never ran in this call. Choose modules that are called (not lists of modules), or "
                f"units='auto'.",
            )


def choose_units(root: nn.Module | None, units: Any) -> Units:
    """The parts of a module that `units` asks for: outermost ones, each once."""
    if isinstance(units, str) and units == "auto":
        return Units([] if root is None else _auto(root), asked=False)
    if root is None:
        found = list(units) if isinstance(units, (list, tuple)) else []
        if not found or not all(isinstance(part, nn.Module) for part in found):
            raise TypeError(f"`units` should be 'auto' or a list of modules where a function is kept. (got {units!r})")
        return Units([(f"{number}:{type(part).__name__}", part) for number, part in enumerate(found)], asked=True)
    wanted = _wanted(root, units)
    for name, module in root.named_modules():
        if isinstance(module, _UNCALLED) and wanted(module):
            raise ValueError(f"`units` should be modules that are called: `{name}` is a {type(module).__name__}.")
    parts: list[tuple[str, nn.Module]] = []
    _collect("", root, wanted, parts, set())
    return Units(parts, asked=True)


def _wanted(root: nn.Module, units: Any) -> UnitPolicy:
    if isinstance(units, str):
        raise ValueError(f"`units` should be 'auto', a module class, a function, or modules. (got {units!r})")
    if isinstance(units, type) or (isinstance(units, tuple) and units and all(isinstance(u, type) for u in units)):
        if not any(isinstance(module, units) for module in root.modules()):
            name = units.__name__ if isinstance(units, type) else units
            raise ValueError(f"`units` should be a class of modules in the model: it has no {name}.")
        return lambda module: isinstance(module, units)
    if isinstance(units, nn.Module) or not (callable(units) or isinstance(units, Iterable)):
        raise TypeError(f"`units` should be 'auto', a module class, a function, or modules. (got {units!r})")
    if not isinstance(units, Iterable):
        chosen = {id(module) for module in root.modules() if units(module)}
        if not chosen:
            raise ValueError("`units` should choose at least one module of the model: the function chose none.")
        return lambda module: id(module) in chosen
    listed = [root.get_submodule(part) if isinstance(part, str) else part for part in units]
    mine = {id(module) for module in root.modules()}
    for module in listed:
        if not isinstance(module, nn.Module) or id(module) not in mine:
            raise ValueError(f"`units` should be parts of the model, and this one is not: {module!r}")
    ids = {id(module) for module in listed}
    return lambda module: id(module) in ids


def _auto(root: nn.Module) -> list[tuple[str, nn.Module]]:
    """The blocks of the outermost lists of blocks; without any, the model's own parts; without those, the model.

    Where a list has one part that holds nearly everything (a trunk in one `Sequential`), that part's own blocks are taken.
    """
    blocks: set[int] = set()
    for module in root.modules():
        if isinstance(module, _CONTAINERS):
            inner = list(module.children())
            if any(_composite(child) for child in inner):
                blocks.update(id(child) for child in inner if _composite(child) and not isinstance(child, _UNCALLED))
            elif inner and module is not root and isinstance(module, nn.Sequential) and not _nested(inner):
                blocks.add(id(module))  # a chain of plain layers: its inputs are its saved tensors, so it goes as one
    found: list[tuple[str, nn.Module]] = []
    _collect("", root, lambda module: id(module) in blocks, found, set())
    found = [part for name, module in found for part in _opened(name, module)]
    if not found:
        found = [(name, child) for name, child in root.named_children() if _composite(child)]
    return found or [("", root)]


def _opened(name: str, module: nn.Module) -> list[tuple[str, nn.Module]]:
    """A part, or the blocks of the lists inside of it, if it has several (a stage of a convolutional net has)."""
    inner: list[tuple[str, nn.Module]] = []
    for child_name, child in module.named_modules():
        if child is not module and isinstance(child, (nn.ModuleList, nn.Sequential)):
            blocks = [(n, block) for n, block in child.named_children() if _composite(block)]
            kinds = {type(block) for _, block in blocks}
            if len(blocks) >= 2 and len(kinds) < len(blocks):
                inner += [(f"{name}.{child_name}.{n}" if name else f"{child_name}.{n}", b) for n, b in blocks]
                break
    return [part for n, b in inner for part in _opened(n, b)] or [(name, module)]


def _nested(children: list[nn.Module]) -> bool:
    return any(isinstance(child, _CONTAINERS) for child in children)


def _composite(module: nn.Module) -> bool:
    return not isinstance(module, _CONTAINERS) and (next(module.children(), None) is not None)


def _collect(
    name: str, module: nn.Module, wanted: UnitPolicy, found: list[tuple[str, nn.Module]], seen: set[int]
) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    if wanted(module):
        found.append((name, module))
        return
    for child_name, child in module.named_children():
        _collect(f"{name}.{child_name}" if name else child_name, child, wanted, found, seen)
