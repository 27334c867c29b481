# SPDX-License-Identifier: BSD-3-Clause
"""A function computed in NumPy, written with torch: only what both libraries call alike, and a few that they do not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..edit.patch import Patch
from ..edit.source import Source, children, walk
from ..find.flow import dotted

__all__ = ["translated"]

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
}
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
_TYPES = {"float32": ".float()", "float64": ".double()", "float": ".float()"}


def translated(source: Source, function: cst.FunctionDef) -> Iterator[Patch]:
    """The function with torch in NumPy's place, where every call of NumPy in it has a counterpart."""
    alias = _alias(source)
    used = [n for n in walk(function) if isinstance(n, cst.Call) and (dotted(n.func) or "").startswith(alias + ".")]
    if not used or not any(isinstance(n, cst.Attribute) and n.attr.value == "numpy" for n in walk(function)):
        return
    if any((dotted(c.func) or "").removeprefix(alias + ".") not in _NAMES for c in used):
        return
    patch = Patch()
    body = function.body
    new = _text(source, body, alias)
    if new != source.code(body):
        patch.replace(source, body, new)
        yield patch


def _alias(source: Source) -> str:
    for node in walk(source.module):
        if isinstance(node, cst.Import):
            for name in node.names:
                if dotted(name.name) == "numpy":
                    return dotted(name.asname.name) or "numpy" if name.asname else "numpy"
    return "np"


def _text(source: Source, node: cst.CSTNode, alias: str) -> str:
    """The text of a node with what is below it translated."""
    special = _special(source, node, alias)
    if special is not None:
        return special
    span = source.span(node)
    out, position = "", span.start
    for child in sorted((c for c in children(node) if _has_place(source, c)), key=source.order):
        inner = source.span(child)
        if inner.start < position or inner.end > span.end:
            continue
        out += source.text[position : inner.start] + _text(source, child, alias)
        position = inner.end
    return out + source.text[position : span.end]


def _has_place(source: Source, node: cst.CSTNode) -> bool:
    try:
        source.span(node)
    except KeyError:
        return False
    return True


def _special(source: Source, node: cst.CSTNode, alias: str) -> str | None:
    if not isinstance(node, cst.Call):
        return None
    name = dotted(node.func) or ""
    args = [_argument(source, a, alias) for a in node.args]
    if name.startswith(alias + "."):
        called = _NAMES[name.removeprefix(alias + ".")]
        return f"torch.{called}({', '.join(args)})" if called else args[0]
    if name in {"torch.from_numpy", "torch.tensor", "torch.as_tensor"} and args:
        return args[0]
    if isinstance(node.func, cst.Attribute):
        method, below = node.func.attr.value, node.func.value
        if method in {"numpy", "detach", "cpu"} and not args:
            return _text(source, below, alias)
        if method == "astype" and args:
            kind = args[0].strip("'\"").rsplit(".", 1)[-1]
            return _text(source, below, alias) + _TYPES.get(kind, "")
        return f"{_text(source, below, alias)}.{method}({', '.join(args)})"
    return None


def _argument(source: Source, arg: cst.Arg, alias: str) -> str:
    value = _text(source, arg.value, alias)
    if arg.keyword is None:
        return arg.star + value
    return f"{_KEYWORDS.get(arg.keyword.value, arg.keyword.value)}={value}"
