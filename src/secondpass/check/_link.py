# SPDX-License-Identifier: BSD-3-Clause
"""Binds the files of this folder to each other.

Expressions need calls, calls need statements, statements need expressions: no order of imports would do. Each file names
the others it uses behind `TYPE_CHECKING` as `_calls`, `_tensors` ..., and here, when all are loaded, those names are bound.
(Importing inside the functions would do too, at a price: they are called a hundred thousand times per file.)
"""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ["link"]

_NEEDS = {
    "attributes": "calls layers library names networks tensors",
    "calls": "expressions foreign generators hooks memo statements",
    "catalogue": "calls tensors",
    "comprehensions": "expressions",
    "containers": "items",
    "contexts": "calls trace",
    "data": "calls library",
    "definitions": "calls contexts expressions library statements",
    "edges": "loops",
    "foreign": "attributes layers networks",
    "guards": "statements trace",
    "hooks": "calls layers",
    "items": "calls networks tensors",
    "iterables": "calls",
    "loops": "calls networks tensors",
    "machine": "containers statements values",
    "methods": "gradfn values",
    "operators": "calls containers networks tensors",
    "optimizers": "calls",
    "passes": "networks",
    "python_models": "calls operators",
    "sight": "layers",
    "statements": "operators",
    "tensors": "methods",
    "torch_functions": "attributes calls tensors",
}


def link() -> None:
    """Loads every file and binds what it needs of the others."""
    names = {*_NEEDS, *(n for needs in _NEEDS.values() for n in needs.split())}
    for name in sorted(names):
        import_module(f"{__package__}.{name}")
    for name, needs in _NEEDS.items():
        module = sys.modules[f"{__package__}.{name}"]
        for other in needs.split():
            setattr(module, f"_{other}", sys.modules[f"{__package__}.{other}"])
