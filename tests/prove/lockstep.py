# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on PyTorch and on the specification, statement by statement, and says where they differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint

import secondpass.autograd as spec

from ..autograd.twin import array, is_tensor, saved
from .programs import START, Choice, Writer

LEFT_OUT = "left out"
"""Where PyTorch holds a gradient of nothing but zeros without memory and then refuses to add to it ("ZeroTensors are
immutable"): a trick of its storage, which the specification does not have. Nothing after it can be compared."""


def scope_of(library: Any) -> dict[str, Any]:
    """The names a program starts with."""
    draw = np.random.default_rng(7)
    notes: list[int] = []

    class Cube(library.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    class Pair(library.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(out, y)
            return out, y * 2

        @staticmethod
        def backward(ctx: Any, g: Any, k: Any) -> Any:
            out, _ = ctx.saved_tensors
            return g * out, k * 2

    def leaf(*shape: int) -> Any:
        return library.from_numpy(draw.uniform(-1, 1, shape)).requires_grad_()

    def lstm() -> Any:
        cell = library.nn.LSTMCell(3, 3).double()
        for p in cell.parameters():
            with library.no_grad():
                p.copy_(library.from_numpy(draw.uniform(-1, 1, tuple(p.shape))))
        return cell

    def block(x: Any) -> Any:
        return (x.tanh() * x).sin() * 2

    scope = {
        "torch": library, "F": library.nn.functional, "leaf": leaf,
        "plain": lambda *s: library.from_numpy(draw.uniform(-1, 1, s)),
        "lstm": lstm, "Cube": Cube, "Pair": Pair, "block": block, "checkpoint": library.utils.checkpoint.checkpoint,
        "double": lambda g: g * 2, "noted": lambda t: notes.append(1),
    }  # fmt: skip
    exec(START, scope)
    return scope


def attempt(line: str, scope: dict[str, Any]) -> str:
    """Runs a statement; returns the class of its error, or ""."""
    try:
        exec(line, scope)
    except Exception as error:
        scope["_error"] = error
        return type(error).__name__
    return ""


def look(name: str, theirs: Any, ours: Any) -> str:
    """What differs in a tensor: values, gradient, history."""
    if is_tensor(theirs) != is_tensor(ours):
        return f"{name}: {type(theirs).__name__} / {type(ours).__name__}"
    if not is_tensor(theirs):
        return ""
    for what in ("requires_grad", "is_leaf"):
        if asked(theirs, what) != asked(ours, what):
            return f"{name}.{what}: {asked(theirs, what)} / {asked(ours, what)}"
    if not close(theirs, ours):
        return f"{name}: {theirs.detach()} / {ours.detach()}"
    a, b = asked(theirs, "grad"), asked(ours, "grad")
    if isinstance(a, str) or isinstance(b, str):
        return "" if a is b else f"{name}.grad: {a} / {b}"
    if (a is None) != (b is None) or (a is not None and not close(a, b)):
        return f"{name}.grad: {a} / {b}"
    return ""


def close(theirs: Any, ours: Any) -> bool:
    """Whether two tensors hold the same numbers."""
    a, b = array(theirs), array(ours)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():  # most are equal, and this is many times faster than `allclose`
        return True
    loose = a.dtype == np.float32 or a.dtype == np.float64
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-7, equal_nan=True)) if loose else bool((a == b).all())


def asked(tensor: Any, what: str) -> Any:
    """An attribute of a tensor, or "refused" where asking raises: a view whose base was changed may do that."""
    try:
        return getattr(tensor, what)
    except RuntimeError:
        return "refused"


def histories(theirs: Any, ours: Any, seen: dict[Any, Any]) -> str:
    """What differs between two graphs: names, edges, what is saved, what is spent."""
    todo = [(theirs, ours)]
    while todo:
        a, b = todo.pop()
        if (a is None) != (b is None):
            return f"{a} / {b}"
        if a is None or a in seen:
            if a is not None and seen[a] is not b:
                return f"{a.name()}: not the same node"
            continue
        seen[a] = b
        if a.name() != b.name():
            return f"{a.name()} / {b.name()}"
        if hasattr(a, "variable"):
            continue
        if (
            "Backward" in type(a).__name__
            and not a.name().startswith(("Cube", "Pair", "Checkpoint"))
            and saved(a) != saved(b)
        ):
            return f"{a.name()} saved {saved(a)} / {saved(b)}"
        if [nr for _, nr in a.next_functions] != [nr for _, nr in b.next_functions]:
            return f"{a.name()}: edges {a.next_functions} / {b.next_functions}"
        todo += zip((f for f, _ in a.next_functions), (f for f, _ in b.next_functions), strict=True)
    return ""


def compare(program: list[Choice]) -> tuple[list[str], str]:
    """The statements that ran, and the first difference ("" where there is none)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _compare(program)


def _compare(program: list[Choice]) -> tuple[list[str], str]:
    theirs, ours = scope_of(torch), scope_of(spec)
    writer, lines = Writer(), []
    for choice in program:
        line = writer.write(choice, ours, spec.Tensor)
        lines.append(line)
        a, b = attempt(line, theirs), attempt(line, ours)
        if a and "ZeroTensor" in str(theirs["_error"]):
            return lines, LEFT_OUT
        if a != b:
            return lines, f"error {a or 'none'} ({theirs.get('_error')}) / {b or 'none'} ({ours.get('_error')!r})"
        for name in [n for n, v in ours.items() if is_tensor(v)]:
            found = look(name, theirs.get(name), ours[name])
            if found:
                return lines, found
            if np.abs(array(ours[name])).max(initial=0) > 1e6 or not np.isfinite(array(ours[name])).all():
                return lines, ""  # numbers this large differ in their last digits: no more to be learned
    seen: dict[Any, Any] = {}
    for name in [n for n, v in ours.items() if is_tensor(v)]:
        for mine, yours in ((ours[name], theirs[name]), (asked(ours[name], "grad"), asked(theirs[name], "grad"))):
            if not is_tensor(mine):
                continue
            f, g = asked(yours, "grad_fn"), asked(mine, "grad_fn")
            if "refused" in (f, g):
                found = "" if f is g else f"{f} / {g}"
            else:
                found = histories(f, g, seen)
            if found:
                return lines, f"history of {name}: {found}"
    return lines, ""
