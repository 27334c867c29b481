# SPDX-License-Identifier: BSD-3-Clause
"""A function computed in NumPy, written with torch: only what both libraries call alike, and a few that they do not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..edit.patch import Patch
from ..edit.source import Source, children, walk
from ..find.flow import dotted

__all__ = ["calls_numpy", "translated"]

_SAME = (
    "abs exp log log2 log10 log1p expm1 sqrt square sin cos tan tanh sinh cosh arcsin arccos arctan sign floor ceil "
    "mean sum prod std var where stack dot matmul outer einsum maximum minimum cumsum clip isnan cross trace "
    "linalg.norm fft.fft fft.ifft fft.rfft fft.irfft zeros_like ones_like argmax argmin diff median transpose multiply"
).split()
_NAMES = {
    **{n: n for n in _SAME},
    "concatenate": "cat",
    "power": "pow",
    "array": "",
    "asarray": "",
    "amax": "amax",
    "amin": "amin",
    "absolute": "abs",
    "corrcoef": "corrcoef",
    "cov": "cov",
}
_OF_SEVERAL = {"stack", "concatenate", "einsum", "where"}
"""What takes a sequence of tensors, or several tensors, in both libraries; everything else takes one tensor."""
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
_TYPES = {"float32": ".float()", "float64": ".double()", "float": ".float()"}


def translated(source: Source, function: cst.FunctionDef) -> Iterator[Patch]:
    """The function with torch in NumPy's place, where every call of NumPy in it has a counterpart."""
    alias, used = _alias(source), calls_numpy(source, function)
    if not used or not any(isinstance(n, cst.Attribute) and n.attr.value == "numpy" for n in walk(function)):
        return
    if any((dotted(c.func) or "").removeprefix(alias + ".") not in _NAMES for c in used):
        return
    patch = Patch()
    body = function.body
    new = _Translation(source, function, alias).text(body)
    if new != source.code(body):
        patch.replace(source, body, new)
        yield patch


def calls_numpy(source: Source, function: cst.CSTNode) -> list[cst.Call]:
    """The calls of NumPy in a function."""
    alias = _alias(source)
    return [n for n in walk(function) if isinstance(n, cst.Call) and (dotted(n.func) or "").startswith(alias + ".")]


def _alias(source: Source) -> str:
    for node in walk(source.module):
        if isinstance(node, cst.Import):
            for name in node.names:
                if dotted(name.name) == "numpy":
                    return dotted(name.asname.name) or "numpy" if name.asname else "numpy"
    return "np"


class _Translation:
    """One function."""

    def __init__(self, source: Source, function: cst.FunctionDef, alias: str) -> None:
        self.source, self.alias = source, alias
        self.lists = _lists(function)

    def text(self, node: cst.CSTNode) -> str:
        """The text of a node with what is below it translated."""
        special = self._called(node) if isinstance(node, cst.Call) else None
        if special is not None:
            return special
        source, span = self.source, self.source.span(node)
        out, position = "", span.start
        for child in sorted((c for c in children(node) if _has_place(source, c)), key=source.order):
            inner = source.span(child)
            if inner.start < position or inner.end > span.end:
                continue
            out += source.text[position : inner.start]
            position = self._behind(child)
            if position == inner.end:
                out += self.text(child)
        return out + source.text[position : span.end]

    def _behind(self, node: cst.CSTNode) -> int:
        """Where the text goes on behind a node: at its end, or, where nothing is left of it, at the statement after it.

        Nothing is left of `a, b = a.numpy(), b.numpy()`: without NumPy every name keeps what it has.
        """
        source, end = self.source, self.source.span(node).end
        small = node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else None
        if not isinstance(small, cst.Assign) or len(small.targets) != 1:
            return end
        if self.text(small.value) != source.code(small.targets[0].target):
            return end
        following, indent = source.offset(source.last_line(node) + 1), source.indent(node)
        return following + len(indent) if indent and source.text.startswith(indent, following) else end

    def _called(self, node: cst.Call) -> str | None:
        name = dotted(node.func) or ""
        args = [self._argument(a) for a in node.args]
        if name.startswith(self.alias + "."):
            return self._of_torch(node, name.removeprefix(self.alias + "."), args)
        if name in {"torch.from_numpy", "torch.tensor", "torch.as_tensor"} and args:
            return args[0]
        if isinstance(node.func, cst.Attribute):
            method, below = node.func.attr.value, node.func.value
            if method in {"numpy", "detach", "cpu"} and not args:
                return self.text(below)
            if method == "astype" and args:
                kind = args[0].strip("'\"").rsplit(".", 1)[-1]
                return self.text(below) + _TYPES.get(kind, "")
            return f"{self.text(below)}.{method}({', '.join(args)})"
        return None

    def _of_torch(self, node: cst.Call, name: str, args: list[str]) -> str:
        called = _NAMES[name]
        if args and name not in _OF_SEVERAL and self._is_list(node.args[0].value):
            args[0] = f"torch.tensor({args[0]})" if _numbers(node.args[0].value) else f"torch.stack({args[0]})"
        if name in {"corrcoef", "cov"} and len(args) > 1 and node.args[1].keyword is None:
            args[:2] = [f"torch.stack(({args[0]}, {args[1]}))"]  # two rows, where torch takes them as one tensor
        return f"torch.{called}({', '.join(args)})" if called else args[0]

    def _is_list(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.List | cst.ListComp) or (isinstance(node, cst.Name) and node.value in self.lists)

    def _argument(self, arg: cst.Arg) -> str:
        value = self.text(arg.value)
        if arg.keyword is None:
            return arg.star + value
        return f"{_KEYWORDS.get(arg.keyword.value, arg.keyword.value)}={value}"


def _lists(function: cst.FunctionDef) -> set[str]:
    """Names that are given lists, and nothing else."""
    given: dict[str, list[bool]] = {}
    for node in walk(function):
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    given.setdefault(target.target.value, []).append(isinstance(node.value, cst.List | cst.ListComp))
    return {name for name, all_lists in given.items() if all(all_lists)}


def _numbers(node: cst.BaseExpression) -> bool:
    if not isinstance(node, cst.List):
        return False
    plain = [e.value.expression if isinstance(e.value, cst.UnaryOperation) else e.value for e in node.elements]
    return all(isinstance(value, cst.Integer | cst.Float) for value in plain)


def _has_place(source: Source, node: cst.CSTNode) -> bool:
    try:
        source.span(node)
    except KeyError:
        return False
    return True
