# SPDX-License-Identifier: BSD-3-Clause
"""Calls of passes: which they are, and setting and dropping their arguments, comments and line breaks kept."""

from __future__ import annotations

import libcst as cst

from ..edit.patch import Patch
from ..edit.source import Source, Span
from ..find.flow import calls, dotted

__all__ = ["backward_calls", "drop_argument", "pass_calls", "set_argument"]

_BACKWARD = ("backward", "manual_backward")


def _is_pass(call: cst.Call) -> bool:
    """`x.backward(...)`, `torch.autograd.backward(...)`, Lightning's `manual_backward`, `torch.autograd.grad(...)`, `grad(...)`."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value in {*_BACKWARD, "grad"}
    return dotted(call.func) in {"grad", "backward"}


def pass_calls(node: cst.CSTNode) -> list[cst.Call]:
    return [c for c in calls(node) if _is_pass(c)]


def backward_calls(node: cst.CSTNode) -> list[cst.Call]:
    """Those that are called on something, and fill `.grad`."""
    return [c for c in calls(node) if isinstance(c.func, cst.Attribute) and c.func.attr.value in _BACKWARD]


def set_argument(patch: Patch, source: Source, call: cst.Call, keyword: str, value: str) -> None:
    """`keyword=value`, in place of the one that is there or behind the last argument."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == keyword:
            patch.replace(source, arg.value, value)
            return
    if call.args:
        last = call.args[-1]
        end = source.span(last.value).end
        patch.replace(source, Span(end, end), f", {keyword}={value}")
    else:
        end = source.span(call).end - 1 - _closing(call)
        patch.replace(source, Span(end, end), f"{keyword}={value}")


def _closing(call: cst.Call) -> int:
    """Brackets around the whole call stand behind its own."""
    return len(call.rpar)


def drop_argument(patch: Patch, source: Source, call: cst.Call, arg: cst.Arg) -> None:
    """Removes an argument with one comma beside it."""
    args = list(call.args)
    index = next(i for i, a in enumerate(args) if a is arg)
    start = source.span(arg).start
    end = source.span(arg.value).end
    if index + 1 < len(args):
        end = source.span(args[index + 1]).start
    elif index > 0:
        start = source.span(args[index - 1].value).end
        if isinstance(arg.comma, cst.Comma):
            end = source.text.index(",", end) + 1
            if source.text[start:end].count("\n"):  # one argument a line: the trailing comma is the style
                start, end = source.text.index(",", start) + 1, end
    patch.replace(source, Span(start, end), "")
