# SPDX-License-Identifier: BSD-3-Clause
"""The loss has no history: there is nothing for a backward to walk."""

from __future__ import annotations

from ..record import Carrier, Cut, Failure, Finding, Trace
from ._finding import _place, pass_evidence, quoted, remedy, root_text

CODE = "SP301"
TITLE = "the loss has no history"
REMEDIES = ("keep-history", "other")

_HOW = {
    "detach": "`.detach()` cuts the history off",
    "data": "`.data` gives the values without their history",
    "item": "a Python number has no history",
    "numpy": "NumPy does not record history",
    "wrap": "a tensor made anew from values starts without history",
    "argmax": "an index has no gradient, so its history ends",
    "compare": "a comparison has no gradient, so history ends",
    "cast": "an integer or boolean tensor cannot carry history",
    "sample": "a sample has no gradient, so its history ends",
    "no_grad": "nothing is recorded while gradients are switched off",
    "frozen": "none of the parameters requires a gradient",
}


def diagnose(trace: Trace) -> list[Finding]:
    """Passes over a root without a node."""
    return [_explain(trace, f) for f in trace.failures if f.kind == "no-grad"]


def _explain(trace: Trace, failure: Failure) -> Finding:
    used = trace.at(failure.when)
    cut: Cut | None = next((c for c in reversed(trace.cuts) if c.when <= failure.when), None)
    root = root_text(trace, used)
    name = cut.name if cut is not None and cut.name else root
    how = _HOW.get(cut.kind, "its history ends there") if cut is not None else ""
    at = f" at {cut.place}" if cut is not None and cut.place is not None else ""
    message = f"{quoted(root, 'The loss')} has no history, so there is nothing to send back"
    message += f": {quoted(name, 'it')} loses it{at}; {how}." if cut is not None else "."
    kind = "other" if cut is not None and cut.kind in ("argmax", "sample") else "keep-history"
    remedies = [
        remedy(
            kind,
            f"keep {quoted(name, 'the loss')} in torch from the model to the loss",
            "Gradients flow back only through operations that were recorded.",
            target=name,
            place=cut.place if cut is not None else None,
        )
    ]
    return Finding(
        code=CODE,
        cause="lost-history",
        severity="error",
        message=message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=cut.place if cut is not None else None,
        used=used.place if used is not None else failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {failure.when: "failed"})),
        remedies=tuple(remedies),
        sure=cut is not None and cut.kind != "unknown",
        facts={"root": root, "cut": cut.kind if cut is not None else "", "used_stack": [_place(p) for p in failure.stack]},
    )
