# SPDX-License-Identifier: BSD-3-Clause
"""The same program in other words: renamed, moved, rewritten. A verdict that changes with them reads spelling, not facts.

A variant rewrites syntax trees and says which names became which; what it made is run and must print what the original printed.
Lines follow their statements. Layout and comments are lost on the way, which must not matter either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .program import Mutant, Program

__all__ = ["VARIANTS", "vary"]

Trees = dict[str, ast.Module]
Names = dict[str, str]
_WORDS = (
    "alder birch cedar daisy elder fern gorse hazel iris juniper kelp larch maple nettle olive poppy quince reed sage thyme "
    "umbel violet willow yarrow acorn bramble clover dogwood elm foxglove ginger holly ivy jasmine knapweed laurel moss nutmeg "
    "oak pine rowan spruce tansy vetch wheat yew aster borage cress dill"
).split()


def vary(mutant: Mutant, key: dict[str, Any], variant: str) -> tuple[Mutant, dict[str, Any]] | None:
    """A mutant and its key in other words; None where the variant does not apply."""
    trees = {f: ast.parse(t) for f, t in mutant.program.files.items()}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                node.origin = (file, node.lineno, node.end_lineno)  # type: ignore[attr-defined]
    try:
        names = VARIANTS[variant](trees, key)
    except (ValueError, KeyError, AttributeError):
        return None
    if names is None:
        return None
    files, lines = {}, dict[tuple[str, int], list[tuple[str, int]]]()
    helpers: list[tuple[str, int]] = []
    """Lines that stand in for others: what failed at a pass now fails inside its helper."""
    for file, tree in trees.items():
        files[file] = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        made = ast.parse(files[file])
        old, new = _statements(tree), _statements(made)
        if len(old) != len(new):
            return None
        for a, b in zip(old, new, strict=True):
            if hasattr(a, "helper"):
                helpers.append((file, b.lineno))
            elif hasattr(a, "origin"):
                where, first, last = a.origin
                for row in range(first, (first if hasattr(a, "body") else last) + 1):
                    lines.setdefault((where, row), []).append((file, b.lineno))

    def moved(places: Any) -> list[tuple[str, int]]:
        return sorted({p for f, n in places for p in [*lines.get((f, n), ()), *helpers]})

    def renamed(name: str) -> str:
        whole = names.get(name)
        return whole if whole is not None else re.sub(r"[^\W\d]\w*", lambda m: names.get(m[0], m[0]), name)

    mapped = {**key, **{k: moved(key[k]) for k in ("built", "freed", "failed") if k in key}}
    if "carrier" in key:
        mapped["carrier"] = sorted({renamed(c) for c in key["carrier"]})
    if any(key.get(k) and not mapped[k] for k in ("built", "freed", "failed")):
        return None
    program = Program(mutant.program.name, files)
    return replace(mutant, program=program, variant=variant, tags=(), lines={}), mapped


def _statements(tree: ast.AST) -> list[ast.stmt]:
    """All statements in the order of the source."""
    found: list[ast.stmt] = []

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                found.append(child)
            visit(child)

    visit(tree)
    return found


def _header(tree: ast.Module) -> int:
    """How many statements at the top are docstring and imports."""
    count = 0
    for statement in tree.body:
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            break
        count += 1
    return count


# -- the variants ------------------------------------------------------------------------------------------------------------


def renamed(trees: Trees, key: Any) -> Names | None:
    """Every name of the program's own becomes a plant."""
    import torch

    taken: set[str] = set(dir(__builtins__)) | {"self", "cls", "super", "forward", "setup"}
    for kind in (
        torch.Tensor,
        torch.nn.Module,
        torch.optim.Optimizer,
        torch.nn.Sequential,
        dict,
        list,
        str,
        set,
        object,
        torch,
    ):
        taken |= set(dir(kind))
    taken |= {f.removesuffix(".py") for f in trees}
    own: dict[str, None] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                user = isinstance(node, ast.ImportFrom) and f"{node.module}.py" in trees
                for alias in node.names:
                    if not user:
                        taken.add(alias.asname or alias.name.partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                taken.update(re.findall(r"[^\W\d]\w*", node.value))
            elif isinstance(node, ast.keyword) and node.arg:
                taken.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                hook = isinstance(node, ast.FunctionDef) and node.name.startswith(
                    ("on_", "training_", "validation_", "configure_")
                )
                if node.decorator_list or hook:
                    taken.add(node.name)
                own[node.name] = None
            elif isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
                own[node.arg if isinstance(node, ast.arg) else node.id] = None
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own[node.attr] = None
    framework = any("lightning" in ast.unparse(t) or "Trainer" in ast.unparse(t) for t in trees.values())
    if framework:
        return None
    words = [n for n in own if n not in taken and not n.startswith("__")]
    fresh = [f"{w}{i or ''}" for i in range(1 + len(words) // len(_WORDS)) for w in _WORDS]
    names = dict(zip(words, [w for w in fresh if w not in own and w not in taken], strict=False))
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = names[node.id]
            elif isinstance(node, ast.Attribute) and node.attr in names:
                node.attr = names[node.attr]
            elif isinstance(node, ast.arg) and node.arg in names:
                node.arg = names[node.arg]
            elif (isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names) or (
                isinstance(node, ast.alias) and node.name in names
            ):
                node.name = names[node.name]
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                node.names = [names.get(n, n) for n in node.names]
            elif isinstance(node, ast.ExceptHandler) and node.name in names:
                node.name = names[node.name]
    return names or None


def in_function(trees: Trees, key: Any) -> Names | None:
    """The whole main file inside a function."""
    tree = trees["main.py"]
    head = _header(tree)
    body = tree.body[head:]
    guarded = any(isinstance(s, ast.If) and "__main__" in ast.unparse(s.test) for s in body)
    if guarded or not any(isinstance(s, (ast.For, ast.While)) for s in body):
        return None
    function = ast.parse("def work_of_today():\n    pass\n\nwork_of_today()").body
    function[0].body = body  # type: ignore[attr-defined]
    tree.body[head:] = function
    return {}


def in_class(trees: Trees, key: Any) -> Names | None:
    """The whole main file inside a method."""
    tree = trees["main.py"]
    head = _header(tree)
    body = tree.body[head:]
    guarded = any(isinstance(s, ast.If) and "__main__" in ast.unparse(s.test) for s in body)
    if guarded or not any(isinstance(s, (ast.For, ast.While)) for s in body):
        return None
    made = ast.parse("class Session:\n    def perform(self):\n        pass\n\nSession().perform()").body
    made[0].body[0].body = body  # type: ignore[attr-defined]
    tree.body[head:] = made
    return {}


def second_file(trees: Trees, key: Any) -> Names | None:
    """Functions and classes move to a file of their own."""
    tree = trees["main.py"]
    head = _header(tree)
    defined = [s for s in tree.body[head:] if isinstance(s, (ast.FunctionDef, ast.ClassDef))]
    if not defined or "pieces.py" in trees:
        return None
    rest = [s for s in tree.body[head:] if s not in defined]
    names = ", ".join(d.name for d in defined)
    imports = [ast.parse(ast.unparse(s)).body[0] for s in tree.body[:head] if not isinstance(s, ast.Expr)]
    trees["pieces.py"] = ast.Module([*imports, *defined], [])
    tree.body[head:] = [*ast.parse(f"from pieces import {names}").body, *rest]
    return {}


def for_as_while(trees: Trees, key: Any) -> Names | None:
    """Loops written with `while` and `next`."""
    count = 0

    class Change(ast.NodeTransformer):
        def visit_For(self, node: ast.For) -> Any:
            nonlocal count
            self.generic_visit(node)
            if node.orelse:
                return node
            count += 1
            source = f"feed_{count}"
            head = f"{source} = iter(0)\nwhile True:\n    try:\n        x = next({source})\n    except StopIteration:"
            made = ast.parse(f"{head}\n        break").body
            made[0].value.args = [node.iter]  # type: ignore[attr-defined]
            made[1].body[0].body[0].targets = [node.target]  # type: ignore[attr-defined]
            made[1].body += node.body  # type: ignore[attr-defined]
            made[1].origin = node.origin  # type: ignore[attr-defined]
            return made

    for tree in trees.values():
        Change().visit(tree)
    return {} if count else None


def list_as_deque(trees: Trees, key: Any) -> Names | None:
    """Lists that are begun empty become deques."""
    count = 0
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and not node.value.elts:
                node.value = ast.parse("__import__('collections').deque()", mode="eval").body
                count += 1
    return {} if count else None


def _boxed(trees: Trees, key: Any, start: str, made: Callable[[str], str]) -> Names | None:
    """The carrier, a plain name of the main file, becomes a part of an object."""
    tree = trees["main.py"]
    nested = [f for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.Lambda, ast.ClassDef))]
    inner = {n.id for f in nested for n in ast.walk(f) if isinstance(n, ast.Name)}
    for name in key.get("carrier", ()):
        bound = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
        if not name.isidentifier() or not bound or name in inner:
            continue
        text = made(name)

        class Change(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name, name: str = name, text: str = text) -> Any:
                if node.id != name:
                    return node
                new = ast.parse(text, mode="eval").body
                new.ctx = node.ctx  # type: ignore[attr-defined]
                return ast.copy_location(new, node)

        Change().visit(tree)
        head = _header(tree)
        tree.body[head:head] = ast.parse(start).body
        return {name: text}
    return None


def in_object(trees: Trees, key: Any) -> Names | None:
    """The carrier is an attribute of a small object."""
    start = "class Kept:\n    pass\n\nkept_things = Kept()"
    return _boxed(trees, key, start, lambda name: f"kept_things.{name}")


def in_dict(trees: Trees, key: Any) -> Names | None:
    """The carrier is an entry of a dict."""
    return _boxed(trees, key, "kept_things = {}", lambda name: f"kept_things['{name}']")


def through_helper(trees: Trees, key: Any) -> Names | None:
    """Passes and steps are made by helpers."""
    helpers = "def send_back(root, *more, **options):\n    root.backward(*more, **options)\n\ndef advance(one):\n    one.step()"
    changed = 0
    for tree in trees.values():
        here = 0
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Call)
                and isinstance(node.value.func, ast.Attribute)
            ):
                call, func = node.value, node.value.func
                if func.attr == "backward" and ast.unparse(func.value) not in _ENGINES:
                    node.value = ast.Call(ast.Name("send_back", ast.Load()), [func.value, *call.args], call.keywords)
                    here += 1
                elif func.attr == "step" and not call.args and not call.keywords:
                    node.value = ast.Call(ast.Name("advance", ast.Load()), [func.value], [])
                    here += 1
        if here:
            made = ast.parse(helpers).body
            for function in made:
                function.body[0].helper = True  # type: ignore[attr-defined]
            tree.body[_header(tree) : _header(tree)] = made
            changed += here
    return {} if changed else None


_ENGINES = ("torch.autograd", "autograd", "self", "super()", "accelerator", "fabric")

VARIANTS: dict[str, Callable[[Trees, Any], Names | None]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        renamed,
        in_function,
        in_class,
        second_file,
        for_as_while,
        list_as_deque,
        in_object,
        in_dict,
        through_helper,
    )
}
