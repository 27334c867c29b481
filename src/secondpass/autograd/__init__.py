# SPDX-License-Identifier: BSD-3-Clause
"""The executable specification: a small complete autograd in plain Python and NumPy, used as PyTorch is.

    import secondpass.autograd as torch

Names are bound on first use, so that the op table (`ops`), the graph (`graph`) and the walk (`engine`) can be read
where NumPy is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = ("nn", "optim", "autograd", "utils", "linalg", "random", "ops", "engine", "graph")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    home = import_module(f"{__name__}.names")
    try:
        value = getattr(home, name)
    except AttributeError:
        raise AttributeError(f"secondpass.autograd has no {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_MODULES, *import_module(f"{__name__}.names").__all__})
