# SPDX-License-Identifier: BSD-3-Clause
"""Expressions that cut history, and what stands there when they do not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..edit.patch import Patch
from ..edit.source import Source, walk
from ..find.flow import assigned_value, dotted, names_read, simple, written

__all__ = ["uncut"]

_METHODS = {"detach", "item", "numpy", "tolist", "detach_"}
_HARD = {"float", "long", "int", "type", "to", "double", "half", "bool"}
_FUNCTIONS = {
    "exp", "log", "log1p", "log2", "log10", "expm1", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "erf",
}  # fmt: skip
_WRAPS = {"tensor", "Tensor", "FloatTensor", "as_tensor", "from_numpy", "Variable", "asarray", "DoubleTensor"}


def uncut(source: Source, statement: cst.BaseStatement, *, singly: bool = False) -> Iterator[tuple[Patch, str]]:
    """Patches that take the cuts of one statement away, all of them together; before that one by one, if so wished."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return
    found = [f for node in walk(statement) if (f := _replacement(source, node))]
    outer = [(n, t, w) for n, t, w in found if not any(m is not n and source.inside(n, m) for m, _, _ in found)]
    for node, text, what in outer if singly and len(outer) > 1 else ():
        patch = Patch()
        patch.replace(source, node, text)
        yield patch, what
    if outer:
        patch = Patch()
        for node, text, _ in [*outer, *_numbers_of(source, statement)]:
            patch.replace(source, node, text)
        same = _says_nothing(statement, outer)
        if same:
            patch = Patch()
            patch.delete(source, statement)
        yield patch, outer[0][2]
        if any(text != _in_one(source, n, text) for n, text, _ in outer):
            patch = Patch()
            for node, text, _ in [*outer, *_numbers_of(source, statement)]:
                patch.replace(source, node, _in_one(source, node, text))
            yield patch, outer[0][2]
    call = statement.body[0].value if isinstance(statement.body[0], cst.Expr) else None
    if isinstance(call, cst.Call):
        name = dotted(call.func) or ""
        if name.endswith("set_grad_enabled") or (
            name.endswith("requires_grad_") and call.args and dotted(call.args[0].value) == "False"
        ):
            patch = Patch()
            patch.delete(source, statement)
            yield patch, f"`{source.code(call)}`"
    small = statement.body[0]
    if (
        isinstance(small, cst.Assign)
        and (dotted(small.targets[0].target) or "").endswith("requires_grad")
        and dotted(small.value) == "False"
    ):
        patch = Patch()
        patch.replace(source, small.value, "True")
        yield patch, "`requires_grad = False`"


def _numbers_of(source: Source, statement: cst.SimpleStatementLine) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Functions of numbers that are given, further on, what a statement has bound: they would take its history away again."""
    bound = written(statement)
    for later in simple(source.body(source.scope(statement))):
        for node in walk(later) if isinstance(later, cst.SimpleStatementLine) and later is not statement else ():
            if isinstance(node, cst.Call) and _of_numbers(node) and names_read(node.args[0]) & bound:
                yield node.func, f"torch.{(dotted(node.func) or '').rpartition('.')[2]}", ""


def _of_numbers(node: cst.Call) -> bool:
    """`math.exp(x)`: torch has a function of that name."""
    module, _, last = (dotted(node.func) or "").rpartition(".")
    return module in {"math", "np", "numpy"} and last in _FUNCTIONS and len(node.args) == 1


def _says_nothing(statement: cst.SimpleStatementLine, outer: list[tuple[cst.CSTNode, str, str]]) -> bool:
    """`loss = Variable(loss, requires_grad=True)` would become `loss = loss`."""
    small = statement.body[0]
    return (
        isinstance(small, cst.Assign)
        and len(outer) == 1
        and outer[0][0] is small.value
        and dotted(small.targets[0].target) == outer[0][1]
        and len(statement.body) == 1
    )


def _replacement(source: Source, node: cst.CSTNode) -> tuple[cst.CSTNode, str, str] | None:
    """A node that cuts, what to write instead, and what to call it."""
    if (
        isinstance(node, cst.Attribute)
        and node.attr.value == "data"
        and dotted(node.value) not in {None, "torch", "torch.utils", "self"}
    ):
        return node, source.code(node.value), "`.data`"
    if isinstance(node, cst.IfExp):
        return _branch(source, node)
    if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "use_reentrant":
        # A reentrant checkpoint records nothing where none of its inputs needs a gradient.
        return (node.value, "False", "`use_reentrant=True`") if dotted(node.value) == "True" else None
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS and not node.args:
        inner = _replacement(source, node.func.value)
        value = inner[1] if inner else source.code(node.func.value)
        if node.func.attr.value == "numpy" and value.endswith(".cpu()"):
            value = value.removesuffix(".cpu()")
        return node, value, f"`.{node.func.attr.value}()`"
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "sample" and "random" not in source.code(node):
        # Of a distribution: what is drawn depends on its parameters. Others have no such method, and a proof shows it.
        return node.func.attr, "rsample", "`.sample()`, which cuts"
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in _HARD:
        base = node.func.value
        if isinstance(base, cst.Comparison):
            return node, source.code(base.left), "the threshold"
        if (
            isinstance(base, cst.Call)
            and isinstance(base.func, cst.Attribute)
            and base.func.attr.value in {"gt", "ge", "lt", "le", "round", "sign"}
        ):
            return node, source.code(base.func.value), f"`.{base.func.attr.value}()`"
    name = dotted(node.func) or ""
    last = name.rsplit(".", 1)[-1]
    if _of_numbers(node):
        # A function of numbers gives a number: the same one of torch keeps the history.
        inner = _replacement(source, node.args[0].value)
        return (node, f"torch.{last}({inner[1]})", inner[2]) if inner else None
    if name == "float" and len(node.args) == 1 and not isinstance(node.args[0].value, cst.BaseNumber | cst.BaseString):
        return node, source.code(node.args[0].value), "`float(...)`"
    if last in _WRAPS and node.args and (name.startswith("torch.") or last == "Variable"):
        return _unwrapped(source, node, name)
    return None


def _unwrapped(source: Source, node: cst.Call, name: str) -> tuple[cst.CSTNode, str, str] | None:
    value = node.args[0].value
    inner = _replacement(source, value)
    text = inner[1] if inner else source.code(value)
    if isinstance(value, cst.List | cst.Tuple) and any(
        isinstance(e.value, cst.List | cst.Tuple) for e in value.elements
    ):
        text = _stacked(source, value)
    elif isinstance(value, cst.List | cst.ListComp | cst.Tuple):
        parts = [n for n in walk(value) if n is not value and _replacement(source, n)]
        start = source.span(value).start
        text = source.code(value)
        for part in sorted(parts, key=source.order, reverse=True):
            if not any(p is not part and source.inside(part, p) for p in parts):
                span, new = source.span(part), _replacement(source, part)
                text = text[: span.start - start] + (new[1] if new else "") + text[span.end - start :]
        text = f"torch.stack({text})"
    elif isinstance(value, cst.Name) and _is_list(source, node, value.value):
        text = f"torch.stack({text})"
    if isinstance(value, cst.BaseNumber | cst.BaseString):
        return None
    return node, text, f"`{name}(...)`"


def _in_one(source: Source, node: cst.CSTNode, text: str) -> str:
    """`torch.tensor(x)`, where the source does not say what is in `x`: tensors of one number each, perhaps."""
    name = (dotted(node.func) or "").rsplit(".", 1)[-1] if isinstance(node, cst.Call) and node.args else ""
    made_of = source.code(node.args[0].value) if name in _WRAPS and isinstance(node, cst.Call) else None
    return f"torch.stack({text})" if text == made_of else text


def _stacked(source: Source, node: cst.BaseExpression) -> str:
    """Lists of lists of tensors and numbers, as tensors."""
    if isinstance(node, cst.List | cst.Tuple):
        return f"torch.stack([{', '.join(_stacked(source, e.value) for e in node.elements)}])"
    number = node.expression if isinstance(node, cst.UnaryOperation) else node
    inner = _replacement(source, node)
    text = inner[1] if inner and inner[0] is node else source.code(node)
    return f"torch.tensor({text})" if isinstance(number, cst.BaseNumber) else text


def _is_list(source: Source, node: cst.CSTNode, name: str) -> bool:
    """Whether a name is made as a list in the function around a node."""
    values = [assigned_value(s, name) for s in simple(source.body(source.scope(node)))]
    return any(isinstance(v, cst.List | cst.ListComp) for v in values)


def _branch(source: Source, node: cst.IfExp) -> tuple[cst.CSTNode, str, str] | None:
    """Of `(x > t).float() if t is not None else x`, the branch that keeps the history."""
    for cutting, other in ((node.body, node.orelse), (node.orelse, node.body)):
        hard = _replacement(source, cutting)
        if hard and dotted(other) and hard[1] == source.code(other):
            return node, source.code(other), hard[2]
    return None
