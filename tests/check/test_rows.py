# SPDX-License-Identifier: BSD-3-Clause
"""What `check` is certain of about an operation, against the nodes that PyTorch makes for it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from secondpass.autograd.lifecycle import reach
from secondpass.autograd.ops.only_read import ALIASES, COMPOSED, MORE
from secondpass.check.entries import as_program
from secondpass.check.files.project import Project
from secondpass.check.interpreter.branch_decisions import Policy
from secondpass.check.interpreter.values import Tensor
from secondpass.check.torch.machine import TorchMachine

from .rows import EXPRESSIONS

HEAD = """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
x, y, z = torch.rand(3, 3).requires_grad_(), torch.rand(3, 3).requires_grad_(), torch.rand(3, 3).requires_grad_()
b = torch.rand(3).requires_grad_()
line, image = torch.rand(1, 4, 6).requires_grad_(), torch.rand(1, 4, 6, 6).requires_grad_()
cube = torch.rand(1, 4, 6, 6, 6).requires_grad_()
index = torch.tensor([0, 1])
"""
LEAVES = ("x", "y", "z", "b", "line", "image", "cube")


def real(expression: str) -> dict[str, Any]:
    """What PyTorch does."""
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(HEAD + f"out = {expression}", scope)
    out = scope["out"]
    at = {scope[n].untyped_storage().data_ptr(): n for n in LEAVES}
    own = out.untyped_storage().data_ptr()
    todo, seen, saved, refuses = [out.grad_fn], set(), set(), False
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in [n for n in dir(node) if n.startswith("_saved_") or n == "saved_tensors"]:
            values = getattr(node, name)
            for value in values if isinstance(values, (tuple, list)) else [values]:
                if isinstance(value, torch.Tensor):
                    refuses = True
                    place = value.untyped_storage().data_ptr()
                    saved.add(at.get(place, "result" if place == own else ""))
        todo += [f for f, _ in node.next_functions]
    return {"needs": out.requires_grad, "refuses": refuses, "saved": saved - {""}}


def said(expression: str) -> dict[str, Any] | None:
    """What `check` says; None where it is silent."""
    project = Project(Path(), None, {"program.py": HEAD + f"out = {expression}"})
    project.add("program.py")
    m = TorchMachine(project, Policy("no"))
    as_program("program.py")(m)
    names = m.modules["program.py"].globals
    out = names["out"]
    if not isinstance(out, Tensor) or out.needs is None:
        return None
    at = {names[n].store: n for n in LEAVES}
    nodes, maybe = reach([out.node] if out.node is not None else [])
    if maybe or any(n.opaque or n.vague for n in nodes):
        return None
    kept = {e[3] for n in nodes for e in n.saved if e[3] is not None and e[0] not in n.unsure}
    saved = {at.get(s, "result" if s is out.store else "") for s in kept}
    return {"needs": out.needs, "refuses": any(n.saved for n in nodes), "saved": saved - {""}}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_said_of_an_operation_is_so(name):
    theirs, ours = real(EXPRESSIONS[name]), said(EXPRESSIONS[name])
    if ours is None:
        return
    assert ours["needs"] == theirs["needs"]
    assert ours["refuses"] == theirs["refuses"]
    assert ours["saved"] <= theirs["saved"]


INSIDE = {
    "function", "embedding_loss", "log_prob", "entropy", "rsample", "attention", "convolution", "max_pool", "avg_pool",
    "adaptive_avg_pool", "grid_sampler", "linear_without_bias", "multi_head_attention_forward",
}  # fmt: skip
"""Rows that no function has the name of: they are reached by the names of others."""


def test_every_name_has_an_expression():
    assert {*MORE, *ALIASES, *COMPOSED} - {*EXPRESSIONS} - INSIDE == set()


def test_the_test_can_fail():
    assert real("x * y")["saved"] == {"x", "y"} and real("x + y") == {"needs": True, "refuses": False, "saved": set()}
    assert said("x * y") == {"needs": True, "refuses": True, "saved": {"x", "y"}}
    assert real("x.tanh()")["saved"] == {"result"} == (said("x.tanh()") or {})["saved"]
