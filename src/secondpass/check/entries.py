# SPDX-License-Identifier: BSD-3-Clause
"""Where reading begins: programs, then the training functions and methods that no program of the project calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .files.project import Project
from .interpreter.attributes import get_attribute
from .interpreter.calls import call, instantiate
from .interpreter.machine import Frame, Machine, Scope
from .interpreter.values import Class, Function, Object, Unknown
from .torch import huggingface, lightning

__all__ = ["acts", "as_function", "as_program", "functions", "uncalled"]


def as_program(file: str) -> Any:
    """Starts a file as a program."""

    def start(m: Machine) -> None:
        m.allow(file)
        m.execute(m.module("__main__", file))

    return start


_VERBS = {"backward", "grad", "fit", "train", "manual_backward"}


def acts(project: Project, file: str, tree: ast.Module) -> bool:
    """Whether a file does anything by itself, when it is run or imported, that could train.

    Outside of all functions it uses something of the project, or calls something that trains. Decorators do not count.
    """
    own: set[str] = set()
    used: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own.add(node.name)
        elif isinstance(node, ast.ClassDef):
            own.add(node.name)
            todo.extend(node.body)
        elif isinstance(node, ast.Import):
            own.update(
                (a.asname or a.name).partition(".")[0] for a in node.names if project.module_file(a.name, file, 0)
            )
        elif isinstance(node, ast.ImportFrom):
            whole = node.level or project.module_file(node.module or "", file, 0)
            own.update(
                a.asname or a.name
                for a in node.names
                if whole or project.module_file(f"{node.module}.{a.name}", file, 0)
            )
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.AnnAssign):
            todo.extend(n for n in (node.target, node.value) if n is not None)
        elif not isinstance(node, ast.Lambda):
            if isinstance(node, ast.Call):
                used.add("*")  # perhaps a name that `from x import *` brought
                if isinstance(node.func, ast.Attribute) and node.func.attr in _VERBS:
                    return True
            todo.extend(ast.iter_child_nodes(node))
    return not used.isdisjoint(own) or not used.isdisjoint(_VERBS)


def functions(tree: ast.Module) -> Iterator[tuple[str, str, Any]]:
    """(class or "", name, node) of all functions of a file that can be called from outside."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield "", node.name, node
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield node.name, item.name, item


_TRAINS = {"backward", "grad", "manual_backward"}
_STEPS = {"training_step", "compute_loss"}
_LOOPS = (
    ("pytorch_lightning.LightningModule", {"training_step"}, lightning.fit),
    (huggingface.TRAINER, _STEPS, huggingface.fit),
)
"""(base class, methods, loop) of the frameworks that call a method of the program in a loop of their own."""


def trainers(project: Project, tree: ast.Module) -> set[str]:
    """Names of the functions of a file that train, or call one that does."""

    def find() -> set[str]:
        every = [(name, project.calls(node)) for _, name, node in functions(tree)]
        trains = {name for name, calls in every if calls & _TRAINS}
        for _ in range(4):
            trains |= {name for name, calls in every if calls & trains}
        return trains

    found: set[str] = project.fact("trainers", tree, find)
    return found


def uncalled(project: Project, tree: ast.Module, called: set[int]) -> list[tuple[str, str, Any]]:
    """The training functions whose line is not among those entered, outermost callers first."""
    every = list(functions(tree))
    trains = trainers(project, tree)
    used = set().union(*(project.calls(node) for _, _, node in every))
    wanted = [
        entry
        for entry in every
        if entry[2].lineno not in called
        and (entry[1] in trains or entry[1] in _STEPS)
        # What others call is no beginning, unless it trains by itself.
        and (entry[1] not in ("forward", "backward", "__init__") or {"backward", "step"} <= project.calls(entry[2]))
    ]
    return sorted(wanted, key=lambda e: e[1] in used)


def _definitions(project: Project, tree: ast.Module) -> list[ast.stmt]:
    """What a file defines, without the training that it does: that was read when the file was read as a program."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)

    def find() -> list[ast.stmt]:
        trains = trainers(project, tree) | _TRAINS | {"fit"}
        return [s for s in tree.body if isinstance(s, kinds) or not project.calls(s) & trains]

    found: list[ast.stmt] = project.fact("definitions", tree, find)
    return found


def as_function(file: str, name: str, cls: str, method: str) -> Any:
    """Starts a function with arguments that cannot be told; a method on an object made the same way."""

    def start(m: Machine) -> None:
        m.guessing = True
        module = m.module(name, file)
        m.execute(module, lambda tree: _definitions(m.project, tree))
        frame = Frame("<module>", module, Scope(module.globals, None, module))
        m.frames.append(frame)
        found = module.globals.get(cls or method)
        if isinstance(found, Function) and not cls:
            call(m, found, [], {})
        elif isinstance(found, Class):
            made = instantiate(m, found, [], {})
            if isinstance(made, Object):
                frame.line = 1
                _call_method(m, made, method)

    return start


def _call_method(m: Machine, owner: Object, method: str) -> None:
    for base, step, fit in _LOOPS:
        if owner.cls.derives(base) and method in step:
            fit(m, owner)
            return
    bound = get_attribute(m, owner, method)
    if isinstance(bound, Unknown):
        return
    call(m, bound, [], {})
