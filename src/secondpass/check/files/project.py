# SPDX-License-Identifier: BSD-3-Clause
"""The files of one project: their text, their syntax trees, and which file an import means."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .block_ends import cornered, doomed, jumps, last_choices
from .sources import LARGEST, Source, parse, read_source

__all__ = ["SHOWING", "Project"]


class Project:
    """Reads files once and remembers what was learned of their syntax."""

    def __init__(self, root: Path | None = None, shown: Any = None, texts: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.texts = {os.path.abspath(p): t for p, t in (texts or {}).items()}
        """Text that is not saved yet, by absolute path."""
        self._shown = shown or (lambda path: path)
        self._sources: dict[str, Source | None] = {}
        self._facts: dict[int, Any] = {}
        self._found: dict[tuple[str, str, int, bool], str | None] = {}
        self._real: dict[str, str] = {}
        self._folders: dict[str, frozenset[str]] = {}

    # files ------------------------------------------------------------------------------------------------------------

    def add(self, path: str) -> str:
        """Makes a file known; returns the name that places use."""
        shown: str = self._shown(path)
        self._real[shown] = path
        return shown

    def real(self, file: str) -> str:
        """The path of a file that is known by the name that places use."""
        return self._real.get(file, file)

    def source(self, file: str) -> Source | None:
        """The text of a file with its tree, or None where it cannot be read."""
        if file not in self._sources:
            unsaved = self.texts.get(os.path.abspath(self.real(file)))
            self._sources[file] = read_source(self.real(file)) if unsaved is None else parse(unsaved)
        return self._sources[file]

    def trim(self) -> None:
        """Forgets the trees when there are many: only between readings, for facts are known by the nodes' identity."""
        if sum(len(s.text) for s in self._sources.values() if s is not None) > _MOST_TEXT:
            self._sources.clear()
            self._facts.clear()

    def content(self, file: str) -> bytes | None:
        """The bytes of a file, or None where it cannot be read."""
        path = self.real(file)
        unsaved = self.texts.get(os.path.abspath(path)) if self.texts else None
        if unsaved is not None:
            return unsaved.encode()
        try:
            with open(path, "rb") as opened:
                return opened.read(4 * LARGEST)
        except OSError:
            return None

    def stamp(self, file: str) -> tuple[int, int]:
        """Size and time of a file; the time is 0 where it says nothing."""
        path = self.real(file)
        if self.texts and os.path.abspath(path) in self.texts:
            return 0, 0
        try:
            stat = os.stat(path)
        except OSError:
            return 0, 0
        return stat.st_size, stat.st_mtime_ns

    def tree(self, file: str) -> ast.Module | None:
        """The syntax tree of a file."""
        source = self.source(file)
        return source.tree if source else None

    def text(self, file: str) -> str:
        """The text of a file."""
        source = self.source(file)
        return source.text if source else ""

    # imports ----------------------------------------------------------------------------------------------------------

    def module_file(self, name: str, importer: str, level: int, inside: bool = False) -> str | None:
        """The file that `name` means when it is imported from `importer`, where it is one of the project."""
        key = (name, importer, level, inside)
        if key not in self._found:
            found = self._find(name, self.real(importer), level, inside)
            self._found[key] = found or (None if level or inside else self._on_path(name, importer))
        return self._found[key]

    def _on_path(self, name: str, importer: str) -> str | None:
        """A module in a folder that `importer` puts on `sys.path` itself: below it, or below a folder that it lies in."""
        tree, parts = self.tree(importer), name.split(".")
        if tree is None or parts[0] in _LIBRARIES or parts[0] in sys.stdlib_module_names:
            return None
        put: list[str] = self.fact("path", tree, lambda: list(_put_on_path(tree)))
        folder = os.path.dirname(os.path.abspath(self.real(importer)))
        top = os.path.abspath(self.root) if self.root else folder
        for _ in range(8 if put else 0):
            for path in put:
                found = self._at(os.path.normpath(os.path.join(folder, path)), parts)
                if found:
                    return found
            if folder == top or os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
        return None

    def modules_of(self, package: str, importer: str) -> list[str]:
        """The files of a package that `importer` can name; of its own folder, if it names none."""
        here = os.path.dirname(os.path.abspath(self.real(importer)))
        folders = [os.path.join(top, *package.split(".")) for top in (here, os.path.abspath(self.root or here))]
        folder = next((f for f in folders if os.path.isdir(f)), None)
        return (
            [self.add(os.path.join(folder, n)) for n in sorted(self._names(folder)) if n.endswith(".py")]
            if folder
            else []
        )

    def _find(self, name: str, importer: str, level: int, inside: bool) -> str | None:
        parts = [p for p in name.split(".") if p]
        here = os.path.dirname(os.path.abspath(importer))
        if inside:
            if os.path.basename(importer) != "__init__.py":
                return None
            return self._at(here, parts)
        if level:
            for _ in range(level - 1):
                here = os.path.dirname(here)
            return self._at(here, parts)
        if not parts or parts[0] in _LIBRARIES:
            return None
        if parts[0] in sys.stdlib_module_names:
            # Only a file beside the program itself comes before the standard library.
            return None if os.path.isfile(os.path.join(here, "__init__.py")) else self._at(here, parts)
        top = os.path.abspath(self.root) if self.root else here
        folder = here
        for _ in range(8):
            found = self._at(folder, parts)
            if found:
                return found
            if folder == top or os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
        if self.root:
            return self._at(os.path.join(top, "src"), parts)
        return None

    def _at(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if part not in self._names(folder):
                return None
            folder = os.path.join(folder, part)
        names = self._names(folder)
        for path in ((*parts[-1:], "__init__.py"), (f"{parts[-1]}.py",) if parts else ()):
            if path and (path[0] in names) and os.path.isfile(full := os.path.join(folder, *path)):
                return self.add(full)
        return None

    def _names(self, folder: str) -> frozenset[str]:
        """What a folder holds: asked for every import, looked up once."""
        found = self._folders.get(folder)
        if found is None:
            try:
                found = frozenset(os.listdir(folder))
            except OSError:
                found = frozenset()
            self._folders[folder] = found
        return found

    def in_package(self, file: str) -> bool:
        """Whether a file is part of a package."""
        return "__init__.py" in self._names(os.path.dirname(os.path.abspath(self.real(file))))

    # facts about syntax -----------------------------------------------------------------------------------------------

    def is_generator(self, node: Any) -> bool:
        """Whether a function yields."""
        return bool(self.fact("generator", node, lambda: any(_own_yields(node))))

    def is_abstract(self, node: Any) -> bool:
        """Whether a function only raises NotImplementedError: what it does is for subclasses to say."""
        return bool(self.fact("abstract", node, lambda: _is_abstract(node)))

    def has_yield(self, node: ast.AST) -> bool:
        """Whether a statement of a generator yields."""
        return bool(self.fact("yield", node, lambda: any(_own_yields(node, True))))

    def yields(self, node: ast.expr) -> list[Any]:
        """The `yield` expressions that an expression always comes to, in their order."""

        def find() -> list[Any]:
            maybe = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
            skipped = {y for n in ast.walk(node) if isinstance(n, maybe) for y in _own_yields(n, True)}
            own = [y for y in _own_yields(node, True) if y not in skipped]
            return sorted(own, key=lambda y: (y.end_lineno, y.end_col_offset))

        found: list[Any] = self.fact("yields", node, find)
        return found

    def registers(self, file: str) -> bool:
        """Whether a file gives what it defines to decorators of other files, which may enter it into something."""
        tree = self.tree(file)

        def find() -> bool:
            own: set[str] = set()
            for node in tree.body if tree is not None else ():
                if isinstance(node, ast.ImportFrom):
                    from_here = node.level or self.module_file(node.module or "", file, 0)
                    own.update(a.asname or a.name for a in node.names if from_here)
                elif isinstance(node, ast.Import):
                    own.update(a.asname or a.name for a in node.names if self.module_file(a.name, file, 0))
            return any(
                isinstance(part, ast.Name) and part.id in own
                for node in (tree.body if tree is not None else ())
                for decorator in getattr(node, "decorator_list", ())
                for part in ast.walk(decorator)
            )

        return tree is not None and bool(self.fact("registers", tree, find))

    def declared(self, node: Any) -> dict[str, str]:
        """Names a function declares `global` or `nonlocal`."""
        found: dict[str, str] = self.fact("declared", node, lambda: _declared(node))
        return found

    def ways(self, node: ast.If) -> tuple[bool, bool, bool, bool]:
        """Whether the branches end the program, and whether they leave early without training."""
        found: tuple[bool, bool, bool, bool] = self.fact(
            "ways",
            node,
            lambda: (
                doomed(node.body),
                bool(node.orelse) and doomed(node.orelse),
                jumps(node.body),
                bool(node.orelse) and jumps(node.orelse),
            ),
        )
        return found

    def is_cornered(self, file: str, node: ast.If) -> bool:
        """Whether a condition without `else` must hold, or the program ends behind it."""
        tree = self.tree(file)
        if node.orelse or tree is None:
            return False
        found: set[int] = self.fact(
            "cornered", tree, lambda: {*map(id, cornered(tree.body)), *map(id, last_choices(tree))}
        )
        return id(node) in found

    def acts(self, node: Any) -> bool:
        """Whether a branch does more than show how things go."""
        return bool(self.fact("acts", node, lambda: bool(_called(node) - SHOWING)))

    def matters(self, node: ast.If) -> bool:
        """Whether it makes a difference which way a condition goes: a branch acts, or leaves others to act."""
        return self.acts(node) or any(self.ways(node)[2:])

    def compares(self, node: ast.If) -> bool:
        """Whether a condition holds a comparison."""
        return bool(self.fact("compares", node, lambda: any(isinstance(n, ast.Compare) for n in ast.walk(node.test))))

    def counters(self, node: Any) -> set[str]:
        """Names that a loop assigns."""
        found: set[str] = self.fact("counters", node, lambda: _counters(node))
        return found

    def counted_attributes(self, node: Any) -> set[tuple[str, str]]:
        """`owner.attr` that a loop counts up."""
        found: set[tuple[str, str]] = self.fact(
            "attributes",
            node,
            lambda: {
                (n.target.value.id, n.target.attr)
                for n in ast.walk(node)
                if isinstance(n, ast.AugAssign)
                and isinstance(n.target, ast.Attribute)
                and isinstance(n.target.value, ast.Name)
            },
        )
        return found

    def calls(self, node: Any) -> set[str]:
        """Names of what is called anywhere in a statement."""
        found: set[str] = self.fact("calls", node, lambda: set(_call_names([node])))
        return found

    def fact(self, kind: str, node: Any, find: Callable[[], Any]) -> Any:
        """Something about a node of a tree, found once."""
        facts = self._facts.setdefault(id(node), {})
        if kind not in facts:
            facts[kind] = find()
        return facts[kind]


_MOST_TEXT = 8_000_000
"""Characters of text with trees; a tree takes some fifty times the memory of its text."""

_LIBRARIES = frozenset("torch numpy transformers accelerate lightning pytorch_lightning lightning_fabric".split())
"""What these names mean is known, wherever their own code may lie."""

SHOWING = set(
    "print format append write info log item join add_scalar save flush debug update_postfix set_postfix round str int "
    "float len time set_description avg add_image add_figure save_image make_grid warning exit mean sum max min cpu "
    "numpy state_dict savefig imshow title show data tolist range list add_scalars add_histogram".split()
)


def _called(node: Any) -> set[str]:
    return set(_call_names([*node.body, *node.orelse]))


def _call_names(todo: list[Any]) -> Iterator[str]:
    while todo:
        node = todo.pop()
        if type(node) is ast.Call:
            function = node.func
            yield function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        # What `ast.iter_child_nodes` does, in half the time.
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                todo.append(value)
            elif isinstance(value, list):
                todo.extend(item for item in value if isinstance(item, ast.AST))


def _put_on_path(tree: ast.Module) -> Iterator[str]:
    """The folders that a file puts on `sys.path`, as far as it spells them out."""
    named = {
        n.targets[0].id: n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and node.args
            and ast.unparse(node.func) in ("sys.path.append", "sys.path.insert")
        ):
            value: ast.AST = node.args[-1]
            names = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)]
            for part in (value, *(named[n] for n in names if n in named)):
                spelled = [n.value for n in ast.walk(part) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                if spelled and not os.path.isabs(spelled[0]):
                    yield os.path.join(*spelled)
                    break


def _own_yields(node: Any, whole: bool = False) -> Any:
    todo = [node] if whole else list(getattr(node, "body", [])) if isinstance(node.body, list) else [node.body]
    while todo:
        item = todo.pop()
        if isinstance(item, (ast.Yield, ast.YieldFrom)):
            yield item
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(item))


def _declared(node: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    if isinstance(node, ast.Lambda):
        return found
    todo = list(node.body)
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Global):
            found.update(dict.fromkeys(item.names, "global"))
        elif isinstance(item, ast.Nonlocal):
            found.update(dict.fromkeys(item.names, "nonlocal"))
        elif not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            todo.extend(c for c in ast.iter_child_nodes(item) if isinstance(c, (ast.stmt, ast.ExceptHandler)))
    return found


def _counters(node: Any) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_abstract(node: Any) -> bool:
    body = node.body if isinstance(node.body, list) else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or body[0].exc is None:
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
