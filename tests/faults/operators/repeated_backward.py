# SPDX-License-Identifier: BSD-3-Clause
"""Call backward on the same loss twice, at once or after the step."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import line, tagged
from . import Change
from ._blocks import again as forward_again
from ._blocks import looked_at, next_step, where

CAUSE = "repeated-backward"


def mutants(host: Host) -> Iterator[Change]:
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or any(k.arg == "retain_graph" for k in call.keywords):
            continue
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        again = f"{line('failed')}{tagged(root)}.backward()"
        yield Change(where(host, call), (host.after(statement, again),), remedy=("other", "recompute"), carrier=(root,))
        step = next_step(host, statement)
        if step is not None:
            edits = (host.after(step, again, host.text(step)),)
            rows = forward_again(host, statement, call.func.value, "_anew")  # type: ignore[attr-defined]
            # The forward once more behind the step: what the host does not do.
            anew = (host.after(step, *rows[:-1], f"{rows[-1]}.backward()", host.text(step)),) if rows else ()
            references = (anew,) if anew else ()
            remedy = ("recompute", "other")
            yield Change(where(host, call, "-stepped"), edits, remedy=remedy, carrier=(root,), references=references)


def twins(host: Host) -> Iterator[Change]:
    """Something else is asked of the graph first, which therefore must be kept."""
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or call.keywords or call.args:
            continue
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        look = looked_at(host, statement, root)
        if look is not None:
            yield Change(where(host, call), (host.before(statement, look),), shows="needed")
