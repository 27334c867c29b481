# SPDX-License-Identifier: BSD-3-Clause
"""Lifetime management for PyTorch's autograd graph.

The public names are bound on first use: `import secondpass` loads neither torch nor numpy.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "explain": "watch",
    "install": "watch",
    "uninstall": "watch",
    "watch": "watch",
    "BudgetError": "keeper",
    "HistoryError": "keeper",
    "KeepError": "keeper",
    "RepeatError": "keeper",
    "backward": "keeper",
    "bptt": "keeper",
    "detach": "keeper",
    "grads": "keeper",
    "keep": "keeper",
    "kept": "keeper",
}

__all__ = [
    "BudgetError",
    "HistoryError",
    "KeepError",
    "RepeatError",
    "__version__",
    "backward",
    "bptt",
    "detach",
    "explain",
    "grads",
    "install",
    "keep",
    "kept",
    "uninstall",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    # `watch` is a folder that can be called: see `_verb`.
    return home if name == _HOMES[name] else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
