# SPDX-License-Identifier: BSD-3-Clause
"""Lifetime management for PyTorch's autograd graph.

The public names are bound on first use: `import secondpass` loads neither torch nor numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .keep import backward, bptt, detach, grads, keep
    from .session import explain, install, uninstall, watch

__version__ = "0.1.0"

_HOMES = {
    "explain": "session",
    "install": "session",
    "uninstall": "session",
    "watch": "session",
    "backward": "keep",
    "bptt": "keep",
    "detach": "keep",
    "grads": "keep",
    "keep": "keep",
}

__all__ = [
    "__version__",
    "backward",
    "bptt",
    "detach",
    "explain",
    "grads",
    "install",
    "keep",
    "uninstall",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    # `keep` is a folder that can be called: see `_verb`.
    return home if name == _HOMES[name] else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
