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
    "backward": "keep",
    "bptt": "keep",
    "detach": "keep",
    "grads": "keep",
    "keep": "keep",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module = import_module(f"{__name__}.{_HOMES[name]}")
        value = getattr(module, name)
        # The folders `watch` and `keep` share their names with the functions they are known for: importing a submodule
        # binds it here, so the function is put in its place.
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
