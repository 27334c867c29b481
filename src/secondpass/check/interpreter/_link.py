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

_FOLDERS = "secondpass.check."
_NEEDS = {
    "interpreter.attributes": "interpreter.calls torch.layers interpreter.library interpreter.names torch.networks torch.tensors",
    "interpreter.calls": "interpreter.expressions torch.foreign interpreter.generators torch.hooks torch.memo interpreter.statements",
    "torch.catalogue": "interpreter.calls torch.tensors",
    "interpreter.comprehensions": "interpreter.expressions",
    "interpreter.containers": "interpreter.items",
    "interpreter.contexts": "interpreter.calls report.trace",
    "torch.data": "interpreter.calls interpreter.library",
    "interpreter.definitions": "interpreter.calls interpreter.contexts interpreter.expressions interpreter.library interpreter.statements",
    "torch.edges": "interpreter.loops",
    "torch.foreign": "interpreter.attributes torch.layers torch.networks",
    "interpreter.guards": "interpreter.statements report.trace",
    "torch.hooks": "interpreter.calls torch.layers",
    "interpreter.items": "interpreter.calls torch.networks torch.tensors",
    "interpreter.iterables": "interpreter.calls",
    "interpreter.loops": "interpreter.calls torch.networks torch.tensors",
    "interpreter.machine": "interpreter.containers interpreter.statements interpreter.values",
    "torch.methods": "torch.gradfn interpreter.values",
    "interpreter.operators": "interpreter.calls interpreter.containers torch.networks torch.tensors",
    "torch.optimizers": "interpreter.calls",
    "torch.passes": "torch.networks",
    "interpreter.python_models": "interpreter.calls interpreter.operators",
    "torch.sight": "torch.layers",
    "interpreter.statements": "interpreter.operators",
    "torch.tensors": "torch.methods",
    "torch.functions": "interpreter.attributes interpreter.calls torch.tensors",
}


def link() -> None:
    """Loads every file and binds what it needs of the others."""
    names = {*_NEEDS, *(n for needs in _NEEDS.values() for n in needs.split())}
    for name in sorted(names):
        import_module(_FOLDERS + name)
    for name, needs in _NEEDS.items():
        module = sys.modules[_FOLDERS + name]
        for other in needs.split():
            setattr(module, f"_{other.rpartition('.')[2]}", sys.modules[_FOLDERS + other])
