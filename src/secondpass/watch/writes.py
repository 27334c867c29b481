# SPDX-License-Identifier: BSD-3-Clause
"""Who changed a buffer in place: the step or the statement that wrote, not the pass that noticed."""

from __future__ import annotations

import ast

import torch

from ..record import Place, Write
from .failure import Graph
from .graph import is_leaf
from .history import executed, place_of

__all__ = ["find_write"]

_LAYERS = 10_000
_HARMLESS = {"requires_grad_", "retain_grad", "detach_", "share_memory_", "backward", "apply_"}


def find_write(graph: Graph) -> tuple[Write | None, int | None, list[str]]:
    """The write that broke the failing node's buffer, the leaf that was written, and names of the tensor."""
    watcher, note = graph.watcher, graph.failed.note
    if graph.failing is None:
        return None, None, []
    leaf, leaf_name = _leaf(graph)
    names = [n for n, t in graph.tensors.items() if _same(t, graph.data)]
    number = graph.number[graph.failing]
    if leaf is not None:
        for step in watcher.ledger.step_notes():
            if step.mark >= number and step.when < note.when and leaf in step.book.every:
                stack = watcher.files.places(step.key)
                return Write(step.when, leaf_name, leaf, stack[0] if stack else None, "step"), leaf, names
    log = watcher.log if graph.failed.note.in_main_thread else None
    start = log.find(number) if log is not None else None
    if log is None or start is None:
        return Write(note.when, leaf_name or (names[0] if names else ""), leaf, None, ""), leaf, names
    ran = executed(log, start, note.position, log.marks[-1] >> 24)
    candidates: list[tuple[Place, str, str]] = []
    todo = [ran]
    flat = []
    while todo:
        call = todo.pop(0)
        for one in call.body:
            flat.append(one)
            todo += one.inner
    for one in sorted(flat, key=lambda o: o.position):
        for target, how in writes_of(one.node):
            # A write that is itself the failing node saved what it made: only what comes after it counts.
            if one.position == start and len(writes_of(one.node)) < 2 and _is_itself(graph.failing.name(), how):
                continue
            candidates.append((place_of(one, watcher.files), target, how))
    if not candidates:
        how, place = _by_module(graph) if leaf is None else ("", None)
        return Write(note.when, leaf_name or (names[0] if names else ""), leaf, place, how), leaf, names
    bases = {n.partition(".")[0].partition("[")[0] for n in names} | set(names)
    known = [c for c in candidates if c[1] in names or c[1].partition(".")[0] in bases]
    if leaf is not None and not any(c[1] in names for c in candidates):
        # `for p in model.parameters(): p.copy_(...)`: a parameter under another name. A slot that is assigned is
        # seldom a parameter's, and a sum often a count.
        known = [c for c in candidates if c[2].endswith("_")] or known
    place, target, how = (known or candidates)[0]
    return Write(note.when, target or leaf_name, leaf, place, how), leaf, names


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
            statement, _ = log.stack(at)[0]
            return f"{kind}(inplace=True)", Place(
                graph.watcher.files.show(statement.file), statement.line, statement.function
            )
    return "", None


def _is_itself(op: str, how: str) -> bool:
    """Whether a node records the very write: `SigmoidBackward0` that of `sigmoid_`, CopySlices that of a view."""
    return (
        op.endswith("CopySlices") or op.lower().startswith(how.rstrip("_=").lower() or " ") or how.rstrip("=") in "+-*/"
    )


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


def _same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    """Whether two tensors share memory."""
    if a is None or b is None:
        return False
    try:
        return a.untyped_storage()._cdata == b.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return False


def writes_of(stmt: ast.stmt) -> list[tuple[str, str]]:
    """The in-place changes that a statement makes in so many words: (what is changed, how)."""
    if isinstance(stmt, (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)):
        return []
    found: list[tuple[str, str]] = []
    if isinstance(stmt, ast.AugAssign):
        found.append((_base(stmt.target), f"{_OPERATORS.get(type(stmt.op), '')}="))
    if isinstance(stmt, ast.Assign):
        found += [(_base(t.value), "[...] =") for t in stmt.targets if isinstance(t, ast.Subscript)]
    for call in (n for n in ast.walk(stmt) if isinstance(n, ast.Call)):
        name = ast.unparse(call.func).rpartition(".")[2]
        if (
            name.endswith("_")
            and not name.endswith("__")
            and name not in _HARMLESS
            and isinstance(call.func, ast.Attribute)
        ):
            owner = ast.unparse(call.func.value)
            function = owner.endswith(("init", "functional")) or owner in ("torch", "F")
            target = call.args[0] if function and call.args else call.func.value
            found.append((_base(target), name))
        if name == "load_state_dict" and isinstance(call.func, ast.Attribute):
            found.append((_base(call.func.value), name))
        for keyword in call.keywords:
            if keyword.arg == "out":
                found.append((_base(keyword.value), f"{name}(out=)"))
            elif (
                keyword.arg == "inplace"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value
                and call.args
            ):
                found.append((_base(call.args[0]), name))
    return found


_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def _base(node: ast.AST) -> str:
    """The tensor that a chain of subscripts and calls starts from."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT"):
            node = node.value
        else:
            return ast.unparse(node)
