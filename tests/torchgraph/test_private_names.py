# SPDX-License-Identifier: BSD-3-Clause
"""What we use of PyTorch that PyTorch does not promise to keep is there: run it on a new release to see what would break."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import secondpass

torch = pytest.importorskip("torch")

ROOT = Path(secondpass.__file__).parent
# Asked for with care where they are used: older or newer releases may do without.
OPTIONAL = {"torch._C._autograd.SavedTensor.unpack_hook", "torch._C._autograd._top_saved_tensors_default_hooks"}


def dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def private(name: str) -> bool:
    return name.startswith("torch.") and any(p.startswith("_") and not p.startswith("__") for p in name.split("."))


def names(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and private(name := dotted(node)):
            yield node.lineno, name
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and node.module
            and node.module.partition(".")[0] == "torch"
        ):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def found(name: str) -> bool:
    parts = name.split(".")
    value: Any = torch
    for k, part in enumerate(parts[1:], 2):
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = import_module(".".join(parts[:k]))  # `torch.optim` hides its module `optimizer`
        except ImportError:
            return False
    return True


def used() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for file in sorted(ROOT.rglob("*.py")):
        for line, name in names(file):
            places.setdefault(name, []).append(f"{file.relative_to(ROOT)}:{line}")
    return places


def test_every_private_name_is_there():
    missing = {name: places for name, places in used().items() if name not in OPTIONAL and not found(name)}
    assert missing == {}


def test_the_test_sees_names_and_can_fail():
    assert "torch.autograd._engine_run_backward" in used()
    assert found("torch.autograd._engine_run_backward")
    assert not found("torch.autograd._no_such_name")


def test_what_nodes_and_saved_tensors_have():
    node = (torch.ones(1, requires_grad=True) ** 2).grad_fn
    for name in ("_raw_saved_self", "_saved_self", "_sequence_nr", "next_functions", "name", "metadata"):
        assert hasattr(node, name), name
    assert hasattr(node._raw_saved_self, "register_hooks")
    assert node.next_functions[0][0]._sequence_nr() == 2**64 - 1
