# SPDX-License-Identifier: BSD-3-Clause
"""Looking at PyTorch's graph and at ours with the same eyes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import secondpass.autograd as spec
import secondpass.autograd.nn.functional as spec_functional

LIBRARIES: dict[str, dict[str, Any]] = {
    "pytorch": {"torch": torch, "F": torch.nn.functional, "nn": torch.nn},
    "spec": {"torch": spec, "F": spec_functional, "nn": spec.nn},
}


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of either library."""
    return isinstance(value, (torch.Tensor, spec.Tensor))


def array(value: Any) -> Any:
    """The numbers of a tensor of either library."""
    return value.detach().numpy(force=True) if is_tensor(value) else np.asarray(value)


def saved(node: Any) -> tuple[str, ...]:
    """Names of the tensors that a node saved, with a star where they have history; ("spent",) where they are gone."""
    names = node.saves if isinstance(node, spec.graph.Node) else [n[7:] for n in dir(node) if n.startswith("_saved_")]
    found = []
    for name in sorted(names):
        try:
            value = getattr(node, f"_saved_{name}")
        except RuntimeError as error:
            return ("spent" if "second time" in str(error) else "changed",)
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if is_tensor(one):
                found.append(name + ("*" if one.requires_grad else ""))
    return tuple(dict.fromkeys(found))


def graph(fn: Any, leaves: dict[int, str], seen: dict[Any, int] | None = None) -> Any:
    """The history behind a node as nested tuples: name, saved, parents; a node met again is its position."""
    if fn is None:
        return None
    if hasattr(fn, "variable"):
        return leaves.get(id(fn.variable), "leaf")
    seen = {} if seen is None else seen
    if fn in seen:
        return seen[fn]
    seen[fn] = len(seen)
    return (fn.name(), saved(fn), *((graph(f, leaves, seen), nr) for f, nr in fn.next_functions))
