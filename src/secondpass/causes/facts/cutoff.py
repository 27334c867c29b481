# SPDX-License-Identifier: BSD-3-Clause
"""Where a module that runs is cut off from the loss, as far as the source shows it: for producers that know which lines ran, but
not what each of them recorded (`unused` has the better answer)."""

from __future__ import annotations

import ast

from ...record import Place, Trace
from ...source import Source, names_in, records_nothing
from .lines import sources_of

__all__ = ["cut_in_source"]

_CUTS = ("detach", "data", "item", "numpy")
_MAKING = ("__init__", "reset_parameters")
_WRITING = ("copy_", "lerp_", "mul_", "add_", "sub_", "div_", "fill_", "zero_", "data", "clamp_", "normal_", "uniform_")


def cut_in_source(trace: Trace, name: str, leaves: list[str]) -> tuple[Place | None, str]:
    """A line that ran, calls a module (or reads one of its parameters) and throws its history away."""
    if not name or trace.called is None:
        return None, ""
    place, kind = _called(trace, name)
    if place is None:
        place = next((at for leaf in leaves if (at := _unrecorded_reads(trace, leaf))), None)
        kind = "parameter" if place is not None else ""
    return place, kind


def _called(trace: Trace, name: str) -> tuple[Place | None, str]:
    attribute = name.rpartition(".")[2]
    ran = {(p.file, p.line): p for p in trace.called or ()}
    for file, tree in sources_of(trace):
        for node in ast.walk(tree.tree):
            if isinstance(node, ast.Attribute) and node.attr == "data":
                stmt = tree.statement(node.lineno)
                whole = ast.unparse(node.value) in (name, f"self.{attribute}")
                # On a line of its own it is written to, not read.
                if whole and stmt is not None and not isinstance(stmt, ast.Expr) and (file, stmt.lineno) in ran:
                    return ran[(file, stmt.lineno)], "data"
            if not isinstance(node, ast.Call):
                continue
            written = ast.unparse(node.func)
            owner, _, method = written.rpartition(".")
            as_number = (owner == name or owner == f"self.{attribute}") and method in (
                "item",
                "detach",
                "numpy",
                "tolist",
            )
            if written == "float" and node.args and ast.unparse(node.args[0]) in (name, f"self.{attribute}"):
                as_number = True
            if as_number and (stmt := tree.statement(node.lineno)) is not None and (file, stmt.lineno) in ran:
                return ran[(file, stmt.lineno)], "item"
            if written != name and written != f"self.{attribute}" and written.rpartition(".")[2] != attribute:
                continue
            stmt = tree.statement(node.lineno)
            if stmt is None or (file, stmt.lineno) not in ran:
                continue
            for outer in ast.walk(stmt):
                # What is cut is the output: `critic(z.detach())` cuts something else.
                if isinstance(outer, ast.Attribute) and outer.attr in _CUTS and node in ast.walk(outer.value):
                    return ran[(file, stmt.lineno)], outer.attr
            for outer in tree.path(stmt.lineno):
                if isinstance(outer, ast.With) and any(records_nothing(i.context_expr) for i in outer.items):
                    return Place(file, outer.lineno, getattr(tree.function(stmt.lineno), "name", "<module>")), "no_grad"
    return _checkpointed(trace, name)


def _unrecorded_reads(trace: Trace, leaf: str) -> Place | None:
    """Where a parameter is read, if that is under `no_grad` wherever it is read; one that is also written by hand is
    kept out of the gradients' way on purpose."""
    attribute = leaf.rpartition(".")[2]
    ran = {(p.file, p.line): p for p in trace.called or ()}
    found: list[Place] = []
    for file, tree in sources_of(trace):
        for node in ast.walk(tree.tree):
            if not isinstance(node, ast.Attribute) or node.attr != attribute or ast.unparse(node.value) != "self":
                continue
            stmt = tree.statement(node.lineno)
            if (
                stmt is None
                or (file, stmt.lineno) not in ran
                or getattr(tree.function(stmt.lineno), "name", "") in _MAKING
            ):
                continue
            if isinstance(node.ctx, ast.Store) or any(f"self.{attribute}.{w}" in ast.unparse(stmt) for w in _WRITING):
                return None
            if not _off(tree, stmt.lineno):
                return None
            found.append(ran[(file, stmt.lineno)])
    return found[0] if found else None


def _off(tree: Source, line: int) -> bool:
    """Whether gradients are switched off around a line, by a block or a decorator."""
    for outer in tree.path(line):
        if isinstance(outer, ast.With) and any(records_nothing(i.context_expr) for i in outer.items):
            return True
        if isinstance(outer, ast.FunctionDef) and any(map(records_nothing, outer.decorator_list)):
            return True
    return False


def _checkpointed(trace: Trace, name: str) -> tuple[Place | None, str]:
    """A reentrant checkpoint that ran a module: where none of its inputs needs a gradient, it records nothing."""
    parts = set(name.split("."))
    ran = {(p.file, p.line): p for p in trace.called or ()}
    for file, tree in sources_of(trace):
        for node in ast.walk(tree.tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if ast.unparse(node.func).rpartition(".")[2] not in ("checkpoint", "checkpoint_sequential"):
                continue
            reentrant = next((k.value for k in node.keywords if k.arg == "use_reentrant"), None)
            stmt = tree.statement(node.lineno)
            if stmt is None or (file, stmt.lineno) not in ran:
                continue
            if (
                isinstance(reentrant, ast.Constant)
                and reentrant.value
                and _runs(tree, node.args[0], node.lineno, parts)
            ):
                return ran[(file, stmt.lineno)], "checkpoint"
    return None, ""


def _runs(tree: Source, function: ast.expr, line: int, parts: set[str]) -> bool:
    """Whether what a checkpoint is given is, or comes from, a module on the way to some parameters."""
    if ast.unparse(function).rpartition(".")[2] in parts:
        return True
    for loop in tree.loops(line):
        if isinstance(loop, ast.For) and names_in(function) & names_in(loop.target):
            return any(isinstance(n, ast.Attribute) and n.attr in parts for n in ast.walk(loop.iter))
    return False
