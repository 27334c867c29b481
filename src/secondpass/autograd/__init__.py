# SPDX-License-Identifier: BSD-3-Clause
"""The executable specification: a small complete autograd in plain Python and NumPy, used as PyTorch is.

    import secondpass.autograd as torch

    ops/                               the op table: value, derivative, node and buffers of each operation
    lifecycle/                         nodes, saved tensors, versions, freeing, leaf gradients: no values
    graph, recording, inplace, passes  what a node is, how it is made, what changes do to it, how it is walked
    tensors, methods, functions, ...   tensors and what users call
    autograd, nn/, optim/, utils/      PyTorch's modules of these names
    tracing/                           what happens, as a `record.Trace`

Names are bound on first use, so that the op table can be read where NumPy is not installed.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

_MODULES = {module.name for module in pkgutil.iter_modules(__path__)}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    names = import_module(f"{__name__}.namespace").NAMES
    if name not in names:
        raise AttributeError(f"secondpass.autograd has no {name!r}")
    globals()[name] = names[name]
    return names[name]


def __dir__() -> list[str]:
    return sorted({*_MODULES, *import_module(f"{__name__}.namespace").NAMES})
