# SPDX-License-Identifier: BSD-3-Clause
"""What a forward depends on besides its arguments, and what it changes besides its result.

NOTE [ Running a forward again ]
1. Random numbers: PyTorch's on the CPU and on the devices in use, Python's and NumPy's start from the same states, and
   afterwards stand where they stood before.
2. Autocast is entered again: a pass usually runs outside of it.
3. Buffers and plain attributes that the forward changes are learned by looking before and after. Their values from
   before are put in place while it runs again, and the present ones come back afterwards. Buffers are swapped, not
   written to: no version moves.
4. Nothing captured holds history: a captured tensor is a detached one. Otherwise the graph would hold the capture and
   the capture the graph, and neither would ever die.
"""

from __future__ import annotations

import contextlib
import copy
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from ._dice import Dice
from ._tree import map_leaves, tensors

__all__ = ["Habits", "Surroundings", "outdated", "severed"]

_CONTAINERS = (list, dict, set, deque)
_OWN = frozenset(vars(nn.Module()))  # parameters, buffers, hooks: the bookkeeping of every module


def severed(value: Any) -> Any:
    """A nested value without history, ready to be used again."""
    return map_leaves(_sever, value)


def _sever(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or (leaf.is_leaf and isinstance(leaf, nn.Parameter)):
        return leaf
    fresh = leaf.detach()
    return fresh.requires_grad_() if leaf.requires_grad else fresh


def outdated(versions: list[tuple[torch.Tensor, int]]) -> bool:
    """Have all parameters changed since? While some have not, passes that need only those can still be right."""
    trained = [pair for pair in versions if isinstance(pair[0], nn.Parameter) and pair[0].requires_grad]
    return bool(trained) and all(value._version != version for value, version in trained)


class Habits:
    """Which buffers and attributes of a module its forward changes. Learned, and never forgotten."""

    def __init__(self, module: nn.Module | None) -> None:
        self.modules = list(module.modules()) if module is not None else []
        self.buffers: set[tuple[int, str]] = set()
        self.attributes: set[tuple[int, str]] = set()
        self._known: set[tuple[bool, ...]] = set()

    def mode(self) -> tuple[bool, ...]:
        """Training or not: a module may have other habits in each."""
        return tuple(module.training for module in self.modules)

    def known(self) -> bool:
        return self.mode() in self._known

    def learned(self) -> None:
        self._known.add(self.mode())

    def hold_history(self) -> bool:
        """Does a module hold a tensor with history as an attribute?"""
        return any(
            leaf.grad_fn is not None
            for index, name in self.attributes
            for leaf in tensors(vars(self.modules[index]).get(name))
        )

    def parameters(self) -> list[torch.Tensor]:
        return [value for module in self.modules for value in module._parameters.values() if value is not None]

    def all_buffers(self) -> Iterator[tuple[int, str, torch.Tensor]]:
        for index, module in enumerate(self.modules):
            for name, value in module._buffers.items():
                if value is not None:
                    yield index, name, value

    def plain(self) -> Iterator[tuple[int, str, Any]]:
        for index, module in enumerate(self.modules):
            # PyTorch's own layers set no attributes, unless a hook does so for them.
            hooked = module._forward_pre_hooks or module._forward_hooks
            if not hooked and type(module).__module__.startswith("torch.nn.modules."):
                continue
            for name, value in vars(module).items():
                if name not in _OWN and name != "_compiled_call_impl":
                    yield index, name, value


class Surroundings:
    """The surroundings of one forward, taken before it runs."""

    def __init__(self, habits: Habits, devices: tuple[torch.device, ...]) -> None:
        self._random = Dice(devices)
        self._kinds = tuple(sorted({device.type for device in devices} | {"cpu"}))
        self._autocast = _autocast_now(self._kinds)
        watch_all = not habits.known()
        self._versions = {(i, n): (b, b._version) for i, n, b in habits.all_buffers()}
        self._buffers = {
            (i, n): b.detach().clone() for i, n, b in habits.all_buffers() if watch_all or (i, n) in habits.buffers
        }
        self._attributes: dict[tuple[int, str], Any] = {}
        self._before: dict[tuple[int, str], tuple[Any, Any]] = {}
        for index, name, value in habits.plain():
            key = (index, name)
            shape = tuple(map(id, _items(value))) if isinstance(value, _CONTAINERS) and len(value) < 256 else None
            self._before[key] = (id(value), shape)
            if watch_all or key in habits.attributes:
                self._attributes[key] = severed(copy.copy(value) if isinstance(value, _CONTAINERS) else value)

    def settle(self, habits: Habits) -> bool:
        """Looks at what the forward changed. False where something changed whose old value was not taken."""
        complete, first = True, not habits.known()
        for index, name, value in habits.all_buffers():
            key = (index, name)
            old = self._versions.get(key)
            moved = old is None or old[0] is not value or old[1] != value._version
            # Batch norm writes to its running statistics without moving their version.
            if moved or (first and not torch.equal(self._buffers[key], value)):
                habits.buffers.add(key)
                complete &= key in self._buffers
        for index, name, value in habits.plain():
            key = (index, name)
            shape = tuple(map(id, _items(value))) if isinstance(value, _CONTAINERS) and len(value) < 256 else None
            if self._before.get(key) != (id(value), shape):
                habits.attributes.add(key)
                complete &= key in self._attributes or key not in self._before
        habits.learned()
        self._versions.clear()
        self._before.clear()
        self._buffers = {key: value for key, value in self._buffers.items() if key in habits.buffers}
        self._attributes = {key: value for key, value in self._attributes.items() if key in habits.attributes}
        return complete

    @contextlib.contextmanager
    def again(self, habits: Habits, resume: bool = False) -> Iterator[None]:
        """The same surroundings once more: see NOTE [ Running a forward again ].

        With `resume` a forward that was broken off starts afresh, and what it does this time stays.
        """
        modules = habits.modules
        now = [(module, dict(vars(module)), dict(module._buffers)) for module in modules]
        here = Dice(self._random.devices)
        try:
            for (index, name), value in self._buffers.items():
                modules[index]._buffers[name] = value.clone()
            for (index, name), value in self._attributes.items():
                vars(modules[index])[name] = copy.copy(value) if isinstance(value, _CONTAINERS) else value
            self._random.restore()
            with contextlib.ExitStack() as stack:
                if self._autocast != _autocast_now(self._kinds):
                    for options in self._autocast:
                        stack.enter_context(torch.amp.autocast(**options))
                yield
        finally:
            if resume:
                now = []
                here = None
            for module, attributes, buffers in now:
                present = vars(module)
                for name in set(present) - set(attributes):
                    del present[name]
                present.update(attributes)
                module._buffers.clear()
                module._buffers.update(buffers)
            if here is not None:
                here.restore()


def _items(value: Any) -> list[Any]:
    return [item for pair in value.items() for item in pair] if isinstance(value, dict) else list(value)


def _autocast_now(kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    found = []
    for kind in kinds:
        try:
            enabled, dtype = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
        except (RuntimeError, TypeError):
            continue
        cache = torch.is_autocast_cache_enabled()
        found.append({"device_type": kind, "enabled": enabled, "dtype": dtype, "cache_enabled": cache})
    return found
