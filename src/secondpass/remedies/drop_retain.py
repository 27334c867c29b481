# SPDX-License-Identifier: BSD-3-Clause
"""drop-retain: a `retain_graph=True` that no later pass needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from ._args import drop_argument, pass_calls
from ._project import Project
from ._ways import Way

__all__ = ["propose"]

# Where `retain_graph` stands when it is given by position.
_POSITION = {"backward": 1, "grad": 3}


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Removes the argument at the pass."""
    for place in (remedy.place, finding.failed, finding.used):
        here = project.at(place)
        if not here:
            continue
        source, statement = here
        for call in pass_calls(statement):
            arg = _retain(call)
            if arg is None:
                continue
            way = Way(
                safe=True, why="no later pass walks this graph; the gradients stay the same and the buffers are freed"
            )
            way.title = f"Drop `{source.code(arg.value) if arg.keyword is None else source.code(arg).rstrip(' ,')}`"
            if arg.keyword is None:
                way.patch.replace(source, arg.value, "False")
            else:
                drop_argument(way.patch, source, call, arg)
            yield way
            return


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
