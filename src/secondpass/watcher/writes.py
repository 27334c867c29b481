# SPDX-License-Identifier: BSD-3-Clause
"""Who changed a saved tensor in place: the step or the statement that wrote, not the pass that noticed."""

from __future__ import annotations

import ast
from typing import Any

import torch

from ..record import Place, Write
from ..source import base_of, effects, given, parsed
from ..torchgraph import is_leaf, storage
from .executed import executed
from .failure import Graph
from .files import Files
from .ledger import StepNote

__all__ = ["find_writes"]

_LAYERS = 10_000
_TOLD = 8
_AUGMENTED = {"+=": "Add", "-=": "Sub", "*=": "Mul", "/=": "Div", "**=": "Pow"}


def find_writes(graph: Graph, *, whole: bool) -> tuple[list[Write], int | None, list[str]]:
    """What can have changed what the failing node had saved, the likeliest first, the leaf that was written, and names of the
    tensor. Where the log is not whole, the statement that wrote may be one that it does not have."""
    watcher, note = graph.watcher, graph.failed.note
    if graph.failing is None:
        return [], None, []
    leaf, leaf_name = _leaf(graph)
    names = [n for n, t in graph.tensors.items() if _same(t, graph.data)]
    number = graph.number[graph.failing]
    if leaf is not None:
        between = [
            s for s in watcher.ledger.step_notes() if s.mark >= number and s.when < note.when and s.book is not None
        ]
        step = next((s for s in between if leaf in s.book.every and _moved(s, leaf)), None)
        if step is not None:
            stack = watcher.files.places(step.key)
            return [Write(step.when, leaf_name, leaf, stack[0] if stack else None, "step")], leaf, names
    log = watcher.log if note.in_main_thread and whole else None
    start = log.find(number) if log is not None else None
    if log is None or start is None:
        return [Write(note.when, leaf_name or (names[0] if names else ""), leaf, None, "")], leaf, names
    ran = executed(log, watcher.files, start, note.position, log.marks[-1] >> 24)
    candidates: list[tuple[Place, str, str]] = []
    # Statements that were under way write at their end: `x[:, t] = f(x[:, t])`, where `f` has saved what it was given.
    for statement, _ in log.stack(start)[1:]:
        under = Place(watcher.files.show(statement.file), statement.line, statement.function)
        candidates += [(under, target, how) for target, how in _writes(under, watcher.files)]
    # What had the changed tensor as it was saved, and made the next of it: nothing else in the graph is made of both.
    had = graph.nodes[graph.failing]
    heirs = [(graph.number[n], n.name()) for n, own in graph.nodes.items() if any(p in own for p in had)]
    made: set[tuple[Place, str, str]] = set()
    for k, one in enumerate(ran):
        found = _writes(one.place, watcher.files)
        for target, how in found:
            # A write that is itself the failing node saved what it made: only what comes after it counts. Any other write
            # of a statement stands at its end, behind what the statement had saved on the way.
            if k == 0 and len(found) < 2 and _is_itself(graph.failing.name(), how):
                continue
            candidates.append((one.place, target, how))
            if any(one.began <= n < one.ended and n != number and _is_itself(op, how) for n, op in heirs):
                made.add(candidates[-1])
    if not candidates:
        how, place = _by_module(graph) if leaf is None else ("", None)
        return [Write(note.when, leaf_name or (names[0] if names else ""), leaf, place, how)], leaf, names
    bases = {n.partition(".")[0].partition("[")[0] for n in names}
    # What is `env.position` at the pass is `self.position` in the method that wrote.
    inner = {n.rpartition(".")[2] for n in names if "." in n}
    known = [c for c in candidates if c[1] in names]
    known = known or [c for c in candidates if c in made]
    known = known or [c for c in candidates if "." in c[1] and c[1].rpartition(".")[2] in inner]
    known = known or [c for c in candidates if c[1].partition(".")[0] in bases]
    if leaf is not None and not any(c[1] in names for c in candidates):
        # `for p in model.parameters(): p.copy_(...)`: a parameter under another name. A slot that is assigned is
        # seldom a parameter's, and a sum often a count.
        known = [c for c in candidates if c[2].endswith("_")] or known
    # A count or a factor begins as a number; a sum does too, and is a tensor from its first term on.
    known = known or [c for c in candidates if not _begins_as_number(c[1], c[0], watcher.files)]
    told = list(dict.fromkeys(known or candidates))[:_TOLD]
    return [Write(note.when, target or leaf_name, leaf, place, how) for place, target, how in told], leaf, names


def _moved(step: StepNote, leaf: int) -> bool:
    """Whether a step moved a leaf that its optimizer owns: as far as was seen, or it would have been by its likes."""
    if step.moved is None:
        return True
    return leaf in step.moved if leaf in (step.used or {}) else bool(step.moved) or not step.used


def _writes(place: Place, files: Files) -> list[tuple[str, str]]:
    """The in-place changes that a statement makes in so many words: (what is changed, how)."""
    source = parsed(files.text(place.file))
    stmt = source.statement(place.line) if source is not None else None
    found = effects(stmt, "write") if stmt is not None else ()
    return [(base_of(e.target), e.how) for e in found if e.target is not None]


def _begins_as_number(name: str, place: Place, files: Files) -> bool:
    """Whether all that a name is given in its function is numbers."""
    source = parsed(files.text(place.file))
    lines = ast.walk(source.function(place.line)) if source is not None else ()
    values = [v for s in lines for t, v in given(s) if ast.unparse(t) == name]
    return bool(values) and all(isinstance(v, ast.Constant) and isinstance(v.value, (int, float)) for v in values)


def _by_module(graph: Graph) -> tuple[str, Place | None]:
    """Nobody writes in so many words: a layer that was made with `inplace=True`, right after the node."""
    todo = [module for _, module in graph.shot.modules]
    kinds: dict[str, None] = {}
    for module in todo:
        if len(todo) < _LAYERS:
            todo += [inner for inner in module._modules.values() if inner is not None]
        if module.__dict__.get("inplace") is True:
            kinds.setdefault(type(module).__name__)
    after = sorted((n for n, parents in graph.nodes.items() if graph.failing in parents), key=graph.number.__getitem__)
    log = graph.watcher.log if graph.failed.note.in_main_thread else None
    for node in after if log is not None else ():
        op = node.name().lower()
        kind = next((k for k in kinds if op.startswith(k.lower()) or ("dropout" in k.lower() and "mul" in op)), None)
        at = log.find(graph.number[node]) if kind is not None and log is not None else None
        if at is not None and log is not None:
            for statement, _ in log.stack(at)[:1]:
                return f"{kind}(inplace=True)", Place(
                    graph.watcher.files.show(statement.file), statement.line, statement.function
                )
    return "", None


def _is_itself(op: str, how: str) -> bool:
    """Whether a node records the very write: `SigmoidBackward0` that of `sigmoid_`, `AddBackward0` that of `+=`, CopySlices
    that of a view."""
    word = _AUGMENTED.get(how, how.rstrip("_="))
    return op.endswith("CopySlices") or op.lower().startswith(word.lower() or " ")


def _leaf(graph: Graph) -> tuple[int | None, str]:
    """The parameter whose memory the changed buffer lies in."""
    for name, module in graph.shot.modules:
        for inner, parameter in module._parameters.items():
            if parameter is not None and _same(parameter, graph.data):
                return graph.watcher.leaves.number(parameter), f"{name}.{inner}"
    for node in graph.nodes:
        if is_leaf(node) and node.variable is not None and _same(node.variable, graph.data):
            number = graph.number[node]
            name = next((n for n, t in graph.tensors.items() if t is node.variable), "")
            return number, name
    return None, ""


def _same(a: torch.Tensor | None, b: Any) -> bool:
    """Whether two tensors share memory."""
    return a is not None and b is not None and storage(a) != 0 and storage(a) == storage(b)
