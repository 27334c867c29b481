# SPDX-License-Identifier: BSD-3-Clause
"""Is a repair right? Runs the repaired program and says what that shows.

NOTE [ What a proof demands ]
1. The finding is gone, and the program does not fail in another way of its own.
2. Where the program had failed: it passes that point and as many passes again, or comes to its end.
3. It has no finding that the repair itself can cause, makes as many steps at least, still trains all that the broken
   program trained, or failed to train (`cover`), and still builds the graphs for it (`graphs`).
4. Passes before the first changed line is executed have bit-identical roots. Where theory says that the values stay (a
   number for a tensor, a needless retain, a cut as long as it has taken nothing away), so have later ones.
5. Losses that were combined give the first step the gradients of separate passes over a kept graph; where statements were only
   moved, the first step has the gradients that it had.
6. A finding that the repair uncovers is the next round's, if the program got at least as far as before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import isclose
from typing import Any

from ...causes import find
from ...record import Finding, Proof, Remedy
from ..find.flow import plain
from .cover import untrained
from .graphs import KEEPS_EVENTS, missing, of_other_kind, same_values
from .run import Command, Run, mirror, run

__all__ = ["Verdict", "agrees_with_retained", "judge", "prove", "same"]

_KEEPS_PASSES = KEEPS_EVENTS | {"recompute", "reorder"}
"""Kinds that leave every pass there, be it elsewhere."""
_VALUES_STAY = {"detach", "data", "item", "numpy", "wrap", "no_grad"}
"""Cuts that leave the value as it is: so does what stands there instead."""


@dataclass
class Verdict:
    """A remedy with its proof, the run behind it, and whether nothing is left to repair."""

    remedy: Remedy
    proof: Proof
    run: Run
    clean: bool = False

    @property
    def proven(self) -> bool:
        return self.proof.status == "proven"


Lines = Callable[[str, int], int | None]
"""The line that a line of the repaired program had before; None for one that the repair has written."""


def same(one: Finding, other: Finding, lines: Lines | None = None) -> bool:
    """Whether a run found what an earlier one had found; lines may have moved.

    A warning is told by its place. A failure may come a few lines on and still be the same.
    """
    if one.cause != other.cause:
        return False
    if lines is not None and one.severity == "warning" and one.failed and other.failed:
        old = lines(other.failed.file, other.failed.line)
        if old is not None and (one.failed.file, one.failed.line) != (other.failed.file, old):
            return False
    names = [plain(f.carrier.name) if f.carrier else "" for f in (one, other)]
    places = [(f.failed.file, f.failed.function) if f.failed else None for f in (one, other)]
    return names[0] == names[1] and places[0] == places[1]


def prove(
    finding: Finding,
    remedy: Remedy,
    before: Run,
    command: Command,
    texts: dict[str, str],
    *,
    until: int = 0,
    timeout: float = 600.0,
    progress: Callable[[int], None] | None = None,
    rerun: Callable[[], Run] | None = None,
    old: dict[str, str] | None = None,
) -> Verdict:
    """Runs the program with the changed texts in a mirror of its folder, and judges.

    :param texts: the new text of every file that differs from the disk, those of earlier rounds included
    :param old: the texts of the run before
    :param rerun: runs the unrepaired program once more, to tell a wrong value from a program that is not deterministic
    """
    enough = max(2 * before.passes, before.passes + 4)
    try:
        with mirror(command, texts) as root:
            lines = tuple(f"{root / file}:{line}" for file, line in _changed(remedy, texts))
            after = run(
                command, root=root, edited=lines, until=until, enough=enough, timeout=timeout, progress=progress
            )
    except (ValueError, OSError) as fault:
        return Verdict(remedy, Proof("not run", str(fault)), Run("unwatched"))
    return judge(finding, remedy, before, after, rerun, _moved(old or {}, texts))


def _moved(old: dict[str, str], new: dict[str, str]) -> Lines:
    maps: dict[str, dict[int, int]] = {}
    for file in old.keys() & new.keys():
        matcher = SequenceMatcher(None, old[file].splitlines(), new[file].splitlines(), autojunk=False)
        maps[file] = {b + i + 1: a + i + 1 for a, b, n in matcher.get_matching_blocks() for i in range(n)}
    return lambda file, line: maps[file].get(line) if file in maps else line


def _changed(remedy: Remedy, texts: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The lines of the repaired program that tell when the repair comes into effect."""
    for edit in remedy.edits:
        if not edit.old and edit.new.startswith("import "):
            continue  # it changes nothing by itself
        first = edit.line + _shift(remedy, edit)
        bodies = _bodies(texts.get(edit.file, ""))
        for line in range(first, first + max(1, edit.new.count("\n") + 1)):
            yield edit.file, line
            yield from ((edit.file, inner) for inner in bodies.get(line, ()))


def _bodies(text: str) -> dict[int, range]:
    """The lines of the body of a definition, for the lines of its decorators: these take effect where it runs."""
    found: dict[int, range] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            for decorator in node.decorator_list:
                found.update(dict.fromkeys(range(decorator.lineno, node.lineno + 1), lines))
    return found


def _shift(remedy: Remedy, edit: object) -> int:
    """By how many lines the edits above move this one."""
    moved = 0
    for other in remedy.edits:
        if other.file == edit.file and other.line < edit.line:  # type: ignore[attr-defined]
            moved += (other.new.count("\n") + 1 if other.new else 0) - (other.old.count("\n") + 1 if other.old else 0)
    return moved


def judge(
    finding: Finding,
    remedy: Remedy,
    before: Run,
    after: Run,
    rerun: Callable[[], Run] | None = None,
    lines: Lines | None = None,
) -> Verdict:
    """What a run of the repaired program shows."""

    def verdict(status: str, detail: str, clean: bool = False) -> Verdict:
        return Verdict(remedy, Proof(status, detail), after, clean)

    if after.outcome in {"timeout", "unwatched"}:
        told = (
            "did not come to an end in time; see --until and --timeout"
            if after.outcome == "timeout"
            else after.last_words
        )
        return verdict("not run", f"the repaired program {told}")
    if any(same(finding, f, lines) for f in after.findings):
        return verdict("refuted", "the finding is still there")
    failed = before.error is not None
    error, known = after.error, find(finding.cause)
    if after.outcome == "failed" and error is None and after.exit != before.exit:
        return verdict("refuted", f"the repaired program fails: {after.last_words}")
    if after.outcome == "failed" and error is None and failed:
        return verdict("refuted", f"the repaired program fails: {after.last_words}")
    new = [f for f in after.findings if not any(same(g, f, lines) for g in before.findings)]
    caused = next((f for f in new if remedy.kind in _caused_by(f) or (not failed and f.severity == "error")), None)
    if caused is not None:
        return verdict("refuted", f"it would cause {caused.cause}: {caused.message}")
    if error is not None and after.passes < before.passes:
        return verdict("refuted", f"it fails earlier than before: {error.message}")
    if after.passes == 0 < before.passes:
        return verdict("refuted", "no pass is left")
    # Where errors were caught, a pass was tried again; what counts then is what was stepped with.
    caught = finding.cause == "swallowed-error" and after.steps > before.steps
    if remedy.kind in _KEEPS_PASSES and after.outcome == "ended" and after.passes < before.passes and not caught:
        return verdict("refuted", f"only {after.passes} of {before.passes} passes are left")
    if after.outcome == "ended" and after.steps < before.steps and not (known and known.fewer_steps):
        return verdict("refuted", f"only {after.steps} of {before.steps} steps are left")
    lost = untrained(before, after, failed=failed, cut=(remedy.kind, finding.cause) == ("detach", "carried-state"))
    if lost and not (known and known.fewer_steps):
        return verdict("refuted", lost)
    gone = missing(finding, remedy, before, after, failed)
    if gone:
        return verdict("refuted", gone)
    silent = not failed and finding.cause == "step-between"
    if remedy.kind == "reorder" and (failed or silent) and not _steps_alike(before, after, every=silent):
        return verdict("refuted", "the first step would apply other gradients: those of another pass are added to them")
    if finding.cause == "misplaced-zero-grad" and _applies_others(before, after, lines):
        return verdict("refuted", "a step would apply the gradients of a pass that is another optimizer's")
    if failed and remedy.kind == "reorder" and _fills_up(before, after):
        return verdict("refuted", "a step would apply the gradients of an earlier pass as well: they had been cleared")
    if failed and finding.cause == "repeated-backward" and remedy.kind == "other" and _starved(after):
        return verdict("refuted", "the first pass is not made every time: some steps would find no gradient")
    if failed and finding.cause == "repeated-backward" and remedy.kind == "other" and not _same_root(finding, before):
        return verdict(
            "refuted", "the two passes send different multiples of the loss through: which is meant cannot be told"
        )
    if remedy.kind == "keep-history" and not _begins_alike(before, after):
        hard = failed and finding.facts.get("cut") not in _VALUES_STAY
        if not hard and (rerun is None or _begins_alike(before, rerun())):
            return verdict("refuted", "the first loss has another value: not only history would be kept")
    unlike = _values(finding, remedy, before, after)
    note = ""
    if unlike:
        again = rerun() if rerun is not None else before
        if before.digests[:unlike] == again.digests[:unlike]:
            return verdict("refuted", "a value changed that should have stayed as it was")
        note = "; two runs of the unrepaired program differ, so values were not compared"
        if failed and again.error is None:
            note += ", and the failure comes and goes"
    return verdict("proven", _told(before, after, failed, new, not note) + note, clean=not new)


def _same_root(finding: Finding, before: Run) -> bool:
    """Whether the pass that failed would have given what one before it, since the last step, has given; or what all of them have,
    as a sum of theirs does."""
    since = before.lines
    for i, line in enumerate(before.lines):
        if line["what"] == "step" and not (finding.facts.get("moves") or finding.facts.get("entered")):
            since = before.lines[i:]
    passes = [line for line in since if line["what"] == "pass"]
    if not passes or "digest" not in passes[-1]:
        return True
    last, others = passes[-1], [p for p in passes[:-1] if p.get("sent") == passes[-1].get("sent")]
    if any(p["digest"] == last["digest"] for p in others):
        return True
    values = [p.get("value") for p in passes]
    if len(others) < 2 or len(others) < len(passes) - 1 or None in values:
        return False
    return isclose(sum(values[:-1]), values[-1], rel_tol=1e-5)  # type: ignore[arg-type]


def _steps_alike(before: Run, after: Run, *, every: bool) -> bool:
    """Whether the optimizer that stepped first has the same gradients at its first step: nothing had moved by then. Where the
    program ran, so has `every` optimizer: its passes are walked over the same forward, be it earlier. (What several optimizers
    own gets several passes' gradients in any case.)"""
    then, now = _first_steps(before), _first_steps(after)
    for optimizer in [*then] if every else [*then][:1]:
        pair = then[optimizer], now.get(optimizer)
        if pair[1] is None or any(len(line["sums"]) != len(line["had"]) for line in pair if line):
            continue
        own = [
            {i: x for i, x in zip(line["had"], line["sums"], strict=True) if i not in line["shared"]}
            for line in pair
            if line
        ]
        alike = own[0].keys() == own[1].keys()
        if not alike or not _same_gradients([[*own[0].values()]], [[*own[1].values()]], 1e-3):
            return False
    return True


def _fills_up(before: Run, after: Run) -> bool:
    """Whether the pass that failed found gradients cleared, and adds to those of another pass now."""
    then, now = ([line for line in r.lines if line["what"] == "pass"][before.passes - 1 :] for r in (before, after))
    if not then or not now:
        return False
    reached = {o for o, _ in now[0].get("behind", ())}
    return bool((set(then[0].get("clean", ())) & reached) - set(now[0].get("clean", ())))


def _applies_others(before: Run, after: Run, lines: Lines | None) -> bool:
    """Whether an optimizer applies what a pass leaves whose gradients, before, only others have applied: it had been cleared for
    a reason."""
    then, now = _applied(before, None), _applied(after, lines)
    for optimizer, places in now.items():
        others = set().union(*(found for o, found in then.items() if o != optimizer))
        if places & (others - then.get(optimizer, set())):
            return True
    return False


def _applied(run: Run, lines: Lines | None) -> dict[int, set[tuple[str, int]]]:
    """Of every optimizer, the places of the passes whose gradients its steps apply, as lines of the unrepaired program."""
    waiting: dict[int, set[tuple[str, int]]] = {}
    found: dict[int, set[tuple[str, int]]] = {}
    for line in run.lines:
        if line["what"] == "pass" and "at" in line:
            for optimizer in line["clean"]:
                waiting[optimizer] = set()
            at = {(file, old) for file, n in line["at"] if (old := lines(file, n) if lines else n) is not None}
            for optimizer, _ in line.get("behind", ()):
                waiting.setdefault(optimizer, set()).update(at)
        elif line["what"] == "step" and line.get("had"):
            found.setdefault(line["optimizer"], set()).update(waiting.get(line["optimizer"], ()))
    return found


def _first_steps(run: Run) -> dict[int, dict[str, Any]]:
    """The first step of every optimizer that the program made, with its gradients, in the order of these steps."""
    found: dict[int, dict[str, Any]] = {}
    for line in run.lines:
        if line["what"] == "step" and line.get("sums") and line.get("optimizer", -1) >= 0:
            found.setdefault(line["optimizer"], line)
    return found


def _starved(after: Run) -> bool:
    """Whether an optimizer finds gradients at some of its steps and none at others."""
    found: dict[int, set[bool]] = {}
    for line in after.lines:
        if line["what"] == "step" and "had" in line:
            found.setdefault(line.get("optimizer", -1), set()).add(bool(line["had"]))
    return any(len(ways) == 2 for ways in found.values())


def _begins_alike(before: Run, after: Run) -> bool:
    """Whether the first pass begins with the value that it had: what has got a history has not changed."""
    values = [next((line.get("value") for line in r.lines if line["what"] == "pass"), None) for r in (before, after)]
    one, two = values
    return one is None or two is None or one != one or isclose(one, two, rel_tol=1e-3, abs_tol=1e-6)


def _caused_by(finding: Finding) -> tuple[str, ...]:
    known = find(finding.cause)
    return known.caused_by if known is not None else ()


def _told(before: Run, after: Run, failed: bool, new: list[Finding], comparable: bool) -> str:
    parts = []
    if failed:
        end = (
            "to its end"
            if after.outcome == "ended"
            else "and was stopped there"
            if after.outcome == "stopped"
            else "before it failed again"
        )
        parts.append(f"failed at pass {before.passes}, ran {after.passes} passes {end}")
    else:
        parts.append(f"{after.passes} passes, the finding is gone")
    compared = _compared(before, after, after.untouched)
    if compared and comparable and before.digests[:compared] == after.digests[:compared]:
        parts.append(f"{compared} pass{'es' * (compared > 1)} bit-identical before the change")
    if new:
        parts.append("uncovers " + ", ".join(sorted({f.cause for f in new})))
    return "; ".join(parts)


def _compared(before: Run, after: Run, wanted: int) -> int:
    return min(len(before.digests), len(after.digests), wanted)


def _values(finding: Finding, remedy: Remedy, before: Run, after: Run) -> int:
    """How many passes should have had the same values, if they have not; else 0 (demand 4)."""
    # Where no changed line was seen to run (it may have, in another thread), only theory can tell.
    wanted = after.untouched if after.edited else 0
    known = find(finding.cause)
    if (known is not None and known.changes_nothing) or (finding.severity == "error" and remedy.kind == "retain-graph"):
        wanted = max(wanted, before.passes)
    elif finding.severity == "error" and of_other_kind(finding, remedy):
        wanted = max(wanted, 1)  # inner passes are gone: the second one is another
    elif finding.severity == "error":
        wanted = max(wanted, same_values(remedy, before, after))
    count = _compared(before, after, wanted)
    alike = before.digests[:count] == after.digests[:count]
    if finding.cause == "needless-retain":
        alike = alike and _same_gradients(before.gradients, after.gradients, 1e-9)
    return 0 if alike else count


def _same_gradients(one: list[list[float]], two: list[list[float]], tolerance: float) -> bool:
    pairs = zip(one, two, strict=False)
    return all(
        len(a) == len(b)
        and all(isclose(x, y, rel_tol=tolerance, abs_tol=1e-6) or x != x for x, y in zip(a, b, strict=True))
        for a, b in pairs
    )


def agrees_with_retained(
    after: Run, command: Command, texts: dict[str, str], passes: int, timeout: float
) -> bool | None:
    """Whether one pass over a sum gives the gradients of the first step of separate passes over a kept graph.

    :param texts: the unrepaired program with `retain_graph=True`; None comes back where it does not get to a step
    """
    try:
        with mirror(command, texts) as root:
            kept = run(command, root=root, until=passes + 8, timeout=timeout)
    except (ValueError, OSError):
        return None
    if not kept.gradients or not after.gradients:
        return None
    return _same_gradients(kept.gradients[:1], after.gradients[:1], 1e-3)
