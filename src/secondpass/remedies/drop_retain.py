# SPDX-License-Identifier: BSD-3-Clause
"""drop-retain: a `retain_graph=True` that no later pass needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.source import Source, walk
from .find.project import Project
from .proposal import Way
from .rewrite.arguments import drop_argument, pass_calls

__all__ = ["propose"]

_WHY = "no later pass walks this graph; the gradients stay the same and the buffers are freed"
# Where `retain_graph` stands when it is given by position.
_POSITION = {"backward": 1, "grad": 3}


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Removes the argument at the pass, or the option that it comes from."""
    for place in (remedy.place, finding.failed, finding.used):
        here = project.at(place)
        if not here:
            continue
        source, statement = here
        for call in pass_calls(statement):
            arg = _retain(call)
            if arg is None:
                continue
            way = Way(safe=True, why=_WHY)
            way.title = f"Drop `{source.code(arg.value) if arg.keyword is None else source.code(arg).rstrip(' ,')}`"
            if arg.keyword is None:
                way.patch.replace(source, arg.value, "False")
            else:
                drop_argument(way.patch, source, call, arg)
            yield way
            return
        if any(a.star == "**" for c in pass_calls(statement) for a in c.args):
            yield from _option(project)
            return


def _option(project: Project) -> Iterator[Way]:
    """Given with other options (`**options`): the one place where it is set, in a dictionary or a call of `dict`."""
    found: list[tuple[Source, cst.BaseExpression]] = []
    for source in project.sources:
        for node in walk(source.module):
            if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString):
                if node.key.evaluated_value == "retain_graph":
                    found.append((source, node.value))
            elif isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "retain_graph":
                found.append((source, node.value))
    if len(found) == 1 and found[0][0].code(found[0][1]) == "True":
        way = Way(title="Set `retain_graph` to False", safe=True, why=_WHY)
        way.patch.replace(*found[0], "False")
        yield way


def _retain(call: cst.Call) -> cst.Arg | None:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "retain_graph":
            return arg
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
    bare = [a for a in call.args if a.keyword is None and not a.star]
    position = _POSITION.get(str(name))
    if position is not None and len(bare) > position:
        return bare[position]
    return None
