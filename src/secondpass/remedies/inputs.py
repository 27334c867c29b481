# SPDX-License-Identifier: BSD-3-Clause
"""inputs: the pass stops at the parameters that its own optimizer steps, and leaves the other network's graph alone.

Right where the way to these parameters does not lead through what is gone or has changed: a run has seen which
optimizers own something behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.source import Source
from .find.flow import simple, written
from .find.project import Project, Scope
from .proposal import Way
from .rewrite.arguments import backward_calls, set_argument

__all__ = ["parameters_of", "propose"]

_WHY = "the gradients of what this optimizer steps stay as they are; the other network gets none from this pass"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """`loss.backward(inputs=list(decoder.parameters()))`."""
    behind, owners = finding.facts.get("owners_behind"), finding.facts.get("owners") or ()
    here = project.at(finding.failed)
    if not here or behind is None:
        return
    source, site = here
    scope = source.scope(site)
    calls = backward_calls(site)
    if len(calls) != 1 or any(a.keyword and a.keyword.value == "inputs" for a in calls[0].args):
        return
    after = [s for s in simple(source.body(scope)) if source.order(s) > source.order(site)]
    steps = [name for s in after if isinstance(s, cst.SimpleStatementLine) and (name := project.optimizer_of(s))]
    if not steps or steps[0] not in owners or steps[0] in behind:
        return
    way = Way(title=f"Send the pass only to what `{steps[0]}` steps", why=_WHY)
    set_argument(way.patch, source, calls[0], "inputs", parameters_of(source, scope, steps[0], project))
    yield way


def parameters_of(source: Source, scope: Scope, optimizer: str, project: Project) -> str:
    """The parameters of an optimizer, by the network that it was made of where its name is known here."""
    made = project.optimizers.get(optimizer, set())
    known = {w for s in simple(source.body(scope)) for w in written(s)}
    network = next(iter(made)) if len(made) == 1 else ""
    if network in known and optimizer in known:
        text = [source.code(s) for s in simple(source.body(scope)) if optimizer in written(s)]
        if any(f"({network}.parameters()" in t for t in text):
            return f"list({network}.parameters())"
    return f'[p for group in {optimizer}.param_groups for p in group["params"]]'
