# SPDX-License-Identifier: BSD-3-Clause
"""retain-graph: keep the buffers for a second pass over the same forward, where exactly that is meant.

Right only for several losses over one forward with no change of the parameters between the passes, and for one loss of which
only one pass leaves its gradient in place; never for history that is carried from one iteration to the next, where it would
hide the fault and fail later or train wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..record import Finding, Remedy
from .find.project import Project
from .proposal import Way
from .rewrite.arguments import pass_calls, set_argument

__all__ = ["propose"]

_MEANT = {"shared-forward", "crossed-networks", "step-between", "freed-access"}


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Sets `retain_graph=True` on the pass that frees, where a later pass of the same forward is meant."""
    here = project.at(finding.freed)
    if not here or not (finding.cause in _MEANT or _one_gradient(finding)):
        return
    source, statement = here
    for call in pass_calls(statement)[:1]:
        way = Way(
            title="Keep the graph for the second pass",
            safe=False,
            why="costs the memory of the kept buffers"
            + (
                ""
                if finding.facts.get("products") or finding.facts.get("apart") or finding.freed == finding.failed
                else "; one pass over the sum is cheaper"
            ),
        )
        set_argument(way.patch, source, call, "retain_graph", "True")
        yield way


def _one_gradient(finding: Finding) -> bool:
    """Whether two calls send one loss through, with no step between, and only one of them adds to gradients (an attempt that was
    made again with another scale); or each multiplies a vector of its own."""
    facts = finding.facts
    if finding.cause != "repeated-backward" or facts.get("moves", True) or facts.get("adds", True):
        return False
    scaled = ((facts.get("why") or {}).get("facts") or {}).get("joins") == "scaled"
    return finding.freed != finding.failed or scaled or bool(facts.get("products"))
