# SPDX-License-Identifier: BSD-3-Clause
"""Read a saved tensor from the graph after the pass that freed it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line, tagged
from . import Change
from ._blocks import where
from ._detaches import bound

CAUSE = "freed-access"

_SAVED = {
    "ExpBackward0": "_saved_result",
    "TanhBackward0": "_saved_result",
    "SigmoidBackward0": "_saved_result",
    "SoftmaxBackward0": "_saved_result",
    "LogSoftmaxBackward0": "_saved_result",
    "SqrtBackward0": "_saved_result",
    "MseLossBackward0": "_saved_self",
    "NllLossBackward0": "_saved_self",
    "PowBackward0": "_saved_self",
    "MulBackward0": "_saved_other",
    "AddmmBackward0": "_saved_mat1",
    "MmBackward0": "_saved_self",
    "BinaryCrossEntropyWithLogitsBackward0": "_saved_self",
    "BinaryCrossEntropyBackward0": "_saved_self",
    "L1LossBackward0": "_saved_self",
    "SmoothL1LossBackward0": "_saved_self",
    "NativeLayerNormBackward0": "_saved_input",
    "ReluBackward0": "_saved_result",
    "AbsBackward0": "_saved_self",
    "LogBackward0": "_saved_self",
}


def _sites(host: Host) -> Iterator[tuple[ast.stmt, str, str]]:
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or any(k.arg == "retain_graph" for k in call.keywords):
            continue
        block = host.block(statement)
        for earlier in reversed(block[: block.index(statement)]):
            if isinstance(earlier, ast.Assign) and len(bound(earlier)) == 1 and host.fact(earlier.value).history:
                saved = _SAVED.get(host.fact(earlier.value).op)
                if saved and bound(earlier)[0].isidentifier():
                    yield statement, bound(earlier)[0], saved


def mutants(host: Host) -> Iterator[Change]:
    for statement, name, saved in _sites(host):
        read = f"{line('failed')}looked = {tagged(name)}.grad_fn.{saved}"
        edits = (host.mark(statement, line("freed")), host.after(statement, read))
        yield Change(
            where(host, statement, f"-{name}"), edits, remedy=("reorder", "other"), carrier=(name,), placed=False
        )


def twins(host: Host) -> Iterator[Change]:
    """Read before the pass."""
    for statement, name, saved in _sites(host):
        yield Change(where(host, statement, f"-{name}"), (host.before(statement, f"looked = {name}.grad_fn.{saved}"),))
