# SPDX-License-Identifier: BSD-3-Clause
"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .modules import Module, Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterList", "Sequential"]


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else enumerate(modules)
        for name, module in named:
            setattr(self, str(name), module)

    def forward(self, x: Any) -> Any:
        """Each module on the result of the one before."""
        for module in list(self.children()):
            x = module(x)
        return x

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, [name for name, _ in self.named_children()][index], module)

    def __len__(self) -> int:
        return len(list(self.children()))

    def __iter__(self) -> Iterator[Module]:
        return self.children()


class _Listed(Module):
    def __init__(self, items: Any = ()) -> None:
        super().__init__()
        self.extend(items)

    def _items(self) -> list[Any]:
        return [v for v in vars(self).values() if isinstance(v, (Module, Parameter))]

    def append(self, item: Any) -> Any:
        """Adds one at the end."""
        setattr(self, str(len(self)), item)
        return self

    def extend(self, items: Any) -> Any:
        """Adds several at the end."""
        for item in items:
            self.append(item)
        return self

    def __getitem__(self, index: Any) -> Any:
        found = self._items()[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())


class ModuleList(_Listed):
    """A list of modules."""


class ParameterList(_Listed):
    """A list of parameters."""


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: dict[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            setattr(self, name, module)

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __setitem__(self, name: str, module: Module) -> None:
        setattr(self, name, module)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """The names."""
        return [n for n, _ in self.named_children()]

    def items(self) -> list[tuple[str, Module]]:
        """Names and modules."""
        return list(self.named_children())

    def values(self) -> list[Module]:
        """The modules."""
        return list(self.children())
