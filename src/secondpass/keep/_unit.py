# SPDX-License-Identifier: BSD-3-Clause
"""Units: the parts of a model that are kept, recomputed or offloaded as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from ._state import Habits

__all__ = ["Unit", "choose_units"]

_CONTAINERS = (nn.ModuleList, nn.Sequential, nn.ModuleDict)


class Unit:
    """One part of the model, and what was learned about it."""

    def __init__(self, name: str, call: Callable[..., Any], module: nn.Module | None) -> None:
        self.name, self.key = name, id(module)
        self.call = call
        self.module = module
        self.habits = Habits(module)
        self.norms = [part for part in self.habits.modules if isinstance(part, nn.LayerNorm)]
        self.verified = False
        """A recompute has given the same buffers, bit for bit."""
        self.pinned: str | None = None
        """Why this unit can only be held."""
        self.late = False
        """Its forward forbids saved-tensor hooks (torch.func does): it can only be held."""
        self.rereads = False
        """Some of its nodes read a buffer twice in one pass."""
        self.reads_inside = False
        """Its forward runs a pass of its own."""
        self.slimmed = False
        """Its derived buffers were made from the others, bit for bit."""
        self.thick = False
        """They came out differently: all are held."""
        self.solid: set[int] = set()
        """Buffers that looked as if they could be made again, and came out differently."""
        self.forms: dict[int, frozenset[Any]] = {}
        """What buffers were found to be made by, in calls that looked at all of them: kinds of recipes, or None."""
        self.pace: float | None = None
        """Seconds that its forward took for each byte of its buffers, on a device that had to be waited for."""
        self.rates: dict[int, float] = {}
        """Seconds that its linear layers take to make a byte of their results again: these came out the same."""
        self.shortcut: Any = None
        """The last product of its forward, which a recompute may leave out."""
        self.replaced: Any = None
        """What stood in the place of our route while a call runs."""


def choose_units(root: nn.Module, units: Any) -> list[tuple[str, nn.Module]]:
    """The named parts of a module that `units` asks for: outermost ones, each once."""
    named = list(root.named_modules())
    if isinstance(units, str):
        if units != "auto":
            raise ValueError(f"`units` should be 'auto', a module class, or modules of the model. (got {units!r})")
        return _auto(root)
    if isinstance(units, type):
        wanted = [module for _, module in named if isinstance(module, units)]
        if not wanted:
            raise ValueError(f"`units` should be a class of modules in the model: it has no {units.__name__}.")
    elif isinstance(units, tuple) and units and all(isinstance(kind, type) for kind in units):
        wanted = [module for _, module in named if isinstance(module, units)]
        if not wanted:
            raise ValueError(f"`units` should be classes of modules in the model: it has none of {units}.")
    elif isinstance(units, (nn.Module, str)) or not isinstance(units, Iterable):
        raise TypeError(f"`units` should be 'auto', a module class, or modules of the model. (got {units!r})")
    else:
        wanted = [root.get_submodule(part) if isinstance(part, str) else part for part in units]
        mine = {id(module) for _, module in named}
        for module in wanted:
            if not isinstance(module, nn.Module) or id(module) not in mine:
                raise ValueError(f"`units` should be parts of the model, and this one is not: {module!r}")
    ids = {id(module) for module in wanted}
    found: list[tuple[str, nn.Module]] = []
    _collect("", root, lambda module: id(module) in ids, found, set())
    return found


def _auto(root: nn.Module) -> list[tuple[str, nn.Module]]:
    """The blocks of the outermost lists of blocks; without any, the model's own parts; without those, the model."""
    blocks: set[int] = set()
    for module in root.modules():
        if isinstance(module, _CONTAINERS):
            inner = list(module.children())
            if any(_composite(child) for child in inner):
                blocks.update(id(child) for child in inner if _composite(child))
            elif inner and module is not root:
                blocks.add(id(module))  # a chain of plain layers: its inputs are its buffers, so it goes as one
    found: list[tuple[str, nn.Module]] = []
    _collect("", root, lambda module: id(module) in blocks, found, set())
    if not found:
        found = [(name, child) for name, child in root.named_children() if _composite(child)]
    return found or [("", root)]


def _composite(module: nn.Module) -> bool:
    return not isinstance(module, _CONTAINERS) and (next(module.children(), None) is not None)


def _collect(
    name: str,
    module: nn.Module,
    wanted: Callable[[nn.Module], bool],
    found: list[tuple[str, nn.Module]],
    seen: set[int],
) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    if wanted(module):
        found.append((name, module))
        return
    for child_name, child in module.named_children():
        _collect(f"{name}.{child_name}" if name else child_name, child, wanted, found, seen)
