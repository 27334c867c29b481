# SPDX-License-Identifier: BSD-3-Clause
"""Reads the same random programs with `check`, and says where what it is certain of is not so.

`check` may be silent: what it cannot tell is None. What it says must be true: which statement fails and why, which names
have history, which nodes are freed, which leaves have a gradient.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import secondpass.autograd as spec
from secondpass.check.entries import as_program
from secondpass.check.files.project import Project
from secondpass.check.interpreter.branch_decisions import Policy
from secondpass.check.interpreter.values import Tensor
from secondpass.check.torch.machine import TorchMachine

from .lockstep import attempt, scope_of
from .programs import LEAVES, START, Choice, Writer

HEAD = f"""
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        out = x.exp()
        ctx.save_for_backward(out, y)
        return out, y * 2

    @staticmethod
    def backward(ctx, g, k):
        out, _ = ctx.saved_tensors
        return g * out, k * 2


def leaf(*shape):
    return torch.rand(*shape).requires_grad_()


def plain(*shape):
    return torch.rand(*shape)


def lstm():
    return torch.nn.LSTMCell(3, 3)


def block(x):
    return (x.tanh() * x).sin() * 2


def double(g):
    return g * 2


def noted(t):
    pass

{START}
"""
_FILE = "program.py"
_TOLD = {"backward-twice", "inplace", "no-grad"}


@dataclass
class Verdict:
    """What came of reading one program."""

    lines: list[str]
    wrong: str = ""
    failing: int = 0
    """How many statements fail in one of the ways that `check` tells of."""
    told: int = 0
    """How many of them it told of."""
    shown: list[str] = field(default_factory=list)


def compare(program: list[Choice]) -> Verdict:
    """Reads one program."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _compare(program)


def _compare(program: list[Choice]) -> Verdict:
    scope = scope_of(spec)
    writer = Writer()
    verdict = Verdict([])
    kinds: list[str] = []
    half = False
    for choice in program:
        line = writer.write(choice, scope, spec.Tensor)
        failed = attempt(line, scope)
        kind = getattr(scope.get("_error"), "kind", "other") if failed else ""
        if failed and kind not in _TOLD and ("backward(" in line or "grad(" in line):
            half = True  # a pass that broke off half-way for a reason that `check` does not see
            break
        # `check` does not compute shapes: a statement that is wrong in itself is left out, and one that gives back the tensor
        # itself is written so.
        new = line.split()[0]
        same = [n for n, v in scope.items() if n != new and v is scope.get(new)] if ".flatten()" in line else []
        line = f"{new} = {same[0]}" if same else line
        verdict.lines.append("pass" if failed and kind not in _TOLD else line)
        kinds.append(kind if kind in _TOLD else "")
    m, first = read(verdict.lines)
    told: dict[int, str] = {}
    for failure in m.engine.failures:
        if failure.place is not None:
            told.setdefault((failure.place.line - first) // 4, failure.kind)
    verdict.shown = [f"{line}    # {kinds[i] or 'ok'} / {told.get(i, 'ok')}" for i, line in enumerate(verdict.lines)]
    for i, kind in enumerate(kinds):
        verdict.failing += bool(kind)
        verdict.told += bool(kind and told.get(i) == kind)
        if i in told and told[i] != kind:
            verdict.wrong = f"{verdict.lines[i]}: {kind or 'runs'}, and was said to fail ({told[i]})"
            return verdict
        if kind and i not in told:
            return verdict  # what comes after a failure that was not seen is another program
    if half:
        return verdict
    verdict.wrong = next((w for name in m.modules[_FILE].globals if (w := _look(name, m, scope))), "")
    return verdict


def read(lines: list[str]) -> tuple[TorchMachine, int]:
    """The machine after reading, and the line of the first statement."""
    text = HEAD + "".join(f"try:\n    {line}\nexcept Exception:\n    pass\n" for line in lines)
    project = Project(Path(), None, {_FILE: text})
    project.add(_FILE)
    m = TorchMachine(project, Policy("no"))
    as_program(_FILE)(m)
    return m, HEAD.count("\n") + 2


def _look(name: str, m: TorchMachine, scope: dict[str, Any]) -> str:
    """What is not so of a name."""
    said, real = m.modules[_FILE].globals[name], scope.get(name)
    if not isinstance(said, Tensor) or not isinstance(real, spec.Tensor):
        return ""
    try:
        needs, fn = real.requires_grad, real.grad_fn
    except RuntimeError:
        return ""  # a view that may no longer be used
    # Whether a gradient has history depends on the derivatives of its formula: `check` may take it to have some.
    if said.needs is not None and said.needs != needs and not (name.startswith("g") and said.needs):
        return f"{name}.requires_grad: {needs}, and was said to be {said.needs}"
    # A view whose base has changed gets a new node when it is asked for: `check` has the old one still.
    same = fn is not None and said.node is not None and fn.name() == said.node.name()
    if same and said.needs and not said.node.opaque and not said.node.vague:
        freed = bool(fn.freed)
        if said.node.freed is not None and said.node.freed != freed:
            return f"{name} ({fn.name()} / {said.node.name()}) freed: {freed}, and was said to be {said.node.freed}"
    if name in LEAVES and said.leaf is not None and not said.leaf.doubt and said.leaf.has is not None:
        there = real.grad is not None and (said.leaf.has or bool((real.grad != 0).any()))
        if said.leaf.has != there:
            return f"{name}.grad: {there}, and was said to be {said.leaf.has}"
    return ""
