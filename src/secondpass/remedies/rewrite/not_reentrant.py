# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of the other kind."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Place
from ...source import parsed
from ..edit.source import walk
from ..find.flow import calls, dotted
from ..find.project import Project
from ..proposal import Way
from .arguments import set_argument

__all__ = ["not_reentrant"]


def not_reentrant(project: Project, made: Place | None) -> Iterator[Way]:
    """A reentrant checkpoint frees, in a pass of its own, what others still need, and hands on gradients one by one, and it
    records nothing where none of its inputs requires a gradient: the other kind does neither."""
    way = Way(title="Checkpoint without `use_reentrant`", safe=True, why="it recomputes in the one pass there is")
    for source in project.sources:
        for node in walk(source.module):
            if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "use_reentrant":
                if source.code(node.value) == "True":
                    way.patch.replace(source, node.value, "False")
            elif isinstance(node, cst.DictElement) and _is_text(node.key, "use_reentrant"):
                if source.code(node.value) == "True":  # what a library hands on to its checkpoints
                    way.patch.replace(source, node.value, "False")
    here = project.at(made)
    if here:  # not said, it is reentrant
        source, statement = here
        tree = parsed(source.text)
        for call in calls(statement) if tree else ():
            name, _, rest = (dotted(call.func) or "").partition(".")
            home = ".".join(filter(None, ((tree.imported if tree else {}).get(name, ""), rest)))
            said = any(a.star == "**" or (a.keyword and a.keyword.value == "use_reentrant") for a in call.args)
            if home.startswith("torch.utils.checkpoint.") and not said:
                set_argument(way.patch, source, call, "use_reentrant", "False")
    if way.patch:
        yield way


def _is_text(node: cst.BaseExpression, text: str) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value == text
