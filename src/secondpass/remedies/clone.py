# SPDX-License-Identifier: BSD-3-Clause
"""clone: the result goes into a new tensor, the saved one stays as it was.

All in-place operations of the function on the same name are rewritten together: views share one version counter, so
that one of them left is enough to fail again.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.patch import Patch
from .edit.source import Source, walk
from .find.flow import base_of, dotted, simple
from .find.project import Project
from .proposal import Way
from .rewrite.arguments import drop_argument

__all__ = ["propose"]

_WHY = "the pass needs the tensor as it was when the forward used it"
_FILLING = {"normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_", "log_normal_"}
"""These have no form that gives a new tensor."""
_OPS = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
}


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Out of place; then copies of the slots that are read, and of the whole."""
    places = [p for p in (remedy.place, finding.freed, finding.used, finding.built) if p]
    for place in places:
        here = project.at(place)
        if not here:
            continue
        source, statement = here
        name = base_of(_target(statement) or remedy.target or (finding.carrier.name if finding.carrier else ""))
        for copy in ("", "read", "whole"):
            patch = Patch()
            for other in simple(source.body(source.scope(statement))):
                if isinstance(other, cst.SimpleStatementLine) and (
                    other is statement or base_of(_target(other) or "") == name
                ):
                    _rewrite(patch, source, other, copy)
            if patch:
                yield Way(patch, f"Change `{name}` out of place", safe=True, why=_WHY)
    for place in places:
        here = project.at(place)
        if here:
            yield from _handed_out(*here)
    yield from _flags(project, places)


def _handed_out(source: Source, statement: cst.BaseStatement) -> Iterator[Way]:
    """`return self.noise.normal_()`: what is filled again is handed out as a copy."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.Return | cst.Assign):
        return
    for call in [n for n in walk(small) if isinstance(n, cst.Call) and _in_place(n)][:1]:
        patch = Patch()
        patch.append(source, call, ".clone()")
        yield Way(patch, f"Hand out a copy of `{source.code(call)}`", safe=True, why=_WHY)


def _target(statement: cst.BaseStatement) -> str | None:
    """What a statement changes in place."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(small, cst.AugAssign):
        return dotted(small.target)
    if isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript):
        return dotted(small.targets[0].target)
    chain = _chain(small)
    return dotted(chain[0]) if chain else None


def _chain(small: cst.CSTNode | None) -> tuple[cst.BaseExpression, list[cst.Call]] | None:
    """`x[i].exp_().mul_(a)` as its tensor and its calls; None where no call is in place."""
    value = small.value if isinstance(small, cst.Expr) else None
    found: list[cst.Call] = []
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and dotted(value) is None:
        found.insert(0, value)
        value = value.func.value
    if value is None or not any(_in_place(c) for c in found):
        return None
    return value, found


def _in_place(call: cst.Call) -> bool:
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return name.endswith("_") and not name.endswith("__") and name not in {"requires_grad_", "detach_"}


def _rewrite(patch: Patch, source: Source, statement: cst.SimpleStatementLine, copy: str) -> None:
    small = statement.body[0]
    if isinstance(small, cst.AugAssign) and type(small.operator) in _OPS:
        target, op = source.code(small.target), _OPS[type(small.operator)]
        if isinstance(small.target, cst.Subscript):
            _copied_before(patch, source, statement, small.target)
            return
        value = source.code(small.value)
        loose = (
            isinstance(small.value, cst.BinaryOperation | cst.IfExp | cst.Lambda | cst.BooleanOperation)
            and not small.value.lpar
        )
        patch.replace(source, small, f"{target} = {target} {op} {f'({value})' if loose and op != '+' else value}")
    elif isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript):
        if copy == "read":
            for node in walk(small.value):
                if isinstance(node, cst.Subscript) and dotted(node) == dotted(small.targets[0].target):
                    patch.append(source, node, ".clone()")
        elif copy:
            _copied_before(patch, source, statement, small.targets[0].target)
    else:
        chain = _chain(small)
        if chain is None or not isinstance(chain[0], cst.Name | cst.Attribute | cst.Subscript):
            return
        tensor, calls_ = chain
        text = source.code(tensor)
        out = text + (".clone()" if copy and isinstance(tensor, cst.Subscript) else "")
        for call in calls_:
            name = call.func.attr.value  # type: ignore[attr-defined]
            arguments = source.code(call)[len(source.code(call.func)) :]
            if name == "copy_" and len(call.args) == 1:
                out = source.code(call.args[0].value)
            elif name in _FILLING:
                out = f"torch.empty_like({out}).{name}{arguments}"
            elif name in {"zero_", "fill_"}:
                out = f"torch.zeros_like({out})" if name == "zero_" else f"torch.full_like({out}, {arguments[1:-1]})"
            else:
                out += f".{name.removesuffix('_')}{arguments}"
        patch.replace(source, small, f"{text} = {out}")


def _copied_before(patch: Patch, source: Source, statement: cst.SimpleStatementLine, target: cst.Subscript) -> None:
    """`x = x.clone()` above a change of a slot of `x`."""
    name = source.code(target.value)
    patch.insert_before(source, statement, [f"{name} = {name}.clone()"])


def _flags(project: Project, places: list) -> Iterator[Way]:  # type: ignore[type-arg]
    """`inplace=True` of an activation, at the place or anywhere in its file."""
    for source in [s for s in project.sources if any(p.file == s.file for p in places)] or project.sources:
        patch = Patch()
        for node in walk(source.module):
            if isinstance(node, cst.Call):
                for arg in node.args:
                    if arg.keyword is not None and arg.keyword.value == "inplace" and dotted(arg.value) == "True":
                        drop_argument(patch, source, node, arg)
                called = dotted(node.func) or ""
                if (
                    called.rsplit(".", 1)[-1] in {"ReLU", "ReLU6", "SiLU", "Hardswish", "ELU"}
                    and [a.keyword for a in node.args] == [None]
                    and dotted(node.args[0].value) == "True"
                ):
                    drop_argument(patch, source, node, node.args[0])
        if patch:
            yield Way(patch, "Do not let the activation overwrite its input", safe=True, why=_WHY)
