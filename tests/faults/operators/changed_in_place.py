# SPDX-License-Identifier: BSD-3-Clause
"""Change a tensor in place that a node has saved, where the host makes a new one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import where

CAUSE = "inplace-change"
REMEDY = ("clone", "other")

_SIGNS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
_METHODS = {
    "clamp",
    "relu",
    "mul",
    "add",
    "sub",
    "div",
    "tanh",
    "sigmoid",
    "exp",
    "masked_fill",
    "clamp_min",
    "abs",
    "sqrt",
}


def mutants(host: Host) -> Iterator[Change]:
    fields = {"error": ("inplace",), "remedy": REMEDY, "placed": False}
    marks = [host.mark(host.statement(c), line("failed")) for c in host.backwards()]
    for statement in host.nodes(ast.Assign):
        value = statement.value
        if isinstance(value, ast.BinOp) and type(value.op) in _SIGNS and len(statement.targets) == 1:
            left = value.left
            if isinstance(left, ast.Name) and host.fact(left).history:
                sign = _SIGNS[type(value.op)]
                text = f"{line('freed')}{tagged(host.text(left))} {sign} {host.text(value.right)}"
                rows = [text.replace(tagged(host.text(left)), host.text(left))]
                target = host.text(statement.targets[0])
                if target != left.id:
                    rows.append(f"{target} = {left.id}")
                new = f"\n{host.indent(statement)}".join(rows)
                yield Change(
                    where(host, statement),
                    (host.replace(statement, new), *_apart(host, statement, marks)),
                    carrier=(left.id, target),
                    **fields,  # type: ignore[arg-type]
                )
    for call in host.method_calls(*_METHODS):
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        if host.fact(receiver).history and isinstance(receiver, (ast.Name, ast.Attribute, ast.Call)):
            text = host.text(call)
            start = host.span(receiver)[1] - host.span(call)[0]
            new = text[:start] + text[start:].replace(f".{call.func.attr}(", f".{call.func.attr}_(", 1)
            names = (host.text(receiver),) if isinstance(receiver, (ast.Name, ast.Attribute)) else ()
            statement = host.statement(call)
            yield Change(
                where(host, call),
                (host.replace(call, line("freed") + new), *_apart(host, statement, marks)),
                carrier=names,
                named=bool(names),
                **fields,  # type: ignore[arg-type]
            )
    for call in host.nodes(ast.Call):
        name = ast.unparse(call.func)
        known = name in ("F.relu", "F.leaky_relu", "F.elu", "torch.relu", "torch.tanh", "torch.sigmoid", "torch.exp")
        if not known or not host.fact(call).history or len(call.args) != 1 or call.keywords:
            continue
        argument = host.text(call.args[0])
        new = f"{name}({argument}, inplace=True)" if name.startswith("F.") else f"{name}_({argument})"
        names = (argument,) if isinstance(call.args[0], (ast.Name, ast.Attribute)) else ()
        yield Change(
            where(host, call),
            (host.replace(call, line("freed") + new), *_apart(host, host.statement(call), marks)),
            carrier=names,
            named=bool(names),
            **fields,  # type: ignore[arg-type]
        )


def _apart(host: Host, statement: ast.stmt, marks: list[Edit]) -> list[Edit]:
    start, end = host.span(statement)
    return [m for m in marks if m.file != host.file(statement) or not start <= m.start <= end]


def twins(host: Host) -> Iterator[Change]:
    """The change is made to a copy."""
    for statement in host.nodes(ast.Assign):
        value = statement.value
        if isinstance(value, ast.BinOp) and type(value.op) in _SIGNS and len(statement.targets) == 1:
            left, target = value.left, statement.targets[0]
            names = isinstance(left, ast.Name) and isinstance(target, ast.Name)
            if names and host.fact(left).history and target.id not in ast.unparse(value.right):  # type: ignore[attr-defined]
                rows = [
                    f"{target.id} = {left.id}.clone()",
                    f"{target.id} {_SIGNS[type(value.op)]} {host.text(value.right)}",
                ]  # type: ignore[attr-defined]
                yield Change(
                    where(host, statement), (host.replace(statement, f"\n{host.indent(statement)}".join(rows)),)
                )
