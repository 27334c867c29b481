# SPDX-License-Identifier: BSD-3-Clause
"""The user's files, and which statement leads to which line."""

from __future__ import annotations

import tokenize
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

import libcst as cst

from ...record import Finding, Place
from ..edit.source import Source, Unreadable, walk
from .flow import calls, dotted, simple

__all__ = ["Places", "Scope"]

_DEPTH = 6
_METHODS = {"zero_grad", "step", "backward", "parameters", "item", "detach", "append", "train", "eval"}
_LIBRARIES = {"torch", "F", "nn", "np", "math", "optim"}
"""What these names call is no object of the user's."""
Scope = cst.FunctionDef | cst.Module
T = TypeVar("T")


@lru_cache(maxsize=8)  # each finding of a run, each test that is watched, asks for the same files again
def _parsed(file: str, text: str) -> Source:
    return Source(file, text)


class Places:
    """Sources by the file name that places use; read when they are first asked for."""

    def __init__(
        self, root: Path | None = None, sources: dict[str, str] | None = None, overlay: dict[str, str] | None = None
    ) -> None:
        """
        :param sources: all the texts there are; nothing is read from the disk
        :param overlay: texts that stand in for what the disk has
        """
        self.root = (root or Path.cwd()).resolve()
        self._given = sources or {}
        self._overlay = overlay or {}
        self._known: dict[str, Source | None] = {}
        self._memo: dict[tuple[object, ...], object] = {}
        self._stacks: dict[Place, set[tuple[str, int]]] = {}
        """The lines under way when a place was reached, as a run has seen them."""
        self.owners: set[str] = set()
        """The names of optimizers, as a run has seen them."""
        self._lasting: set[tuple[str, int]] = set()
        """The lines that were under way from one pass to the other."""
        for file in self._given:
            self.source(file)

    # -- files --------------------------------------------------------------------------------------------------------
    def source(self, file: str) -> Source | None:
        """The parsed file, or None where it cannot be read."""
        if file not in self._known:
            try:
                text = {**self._overlay, **self._given}.get(file)
                if text is None:
                    text = _read(self.root / file)
                self._known[file] = _parsed(file, text)
            except (OSError, UnicodeError, Unreadable, SyntaxError, LookupError):
                self._known[file] = None
            found = self._known[file]
            if found and not self._given:
                for name in _imports(found):
                    self._follow(file, name)
            self.__dict__.pop("by_name", None)
            self.__dict__.pop("optimizers", None)
            self._memo.clear()
        return self._known[file]

    def _follow(self, file: str, name: str) -> None:
        """Reads a module of the user's own that lies next to the file or below the root."""
        for folder in {(self.root / file).parent, self.root}:
            for path in (folder / (name + ".py"), folder / name / "__init__.py"):
                if path.is_file() and path.resolve().is_relative_to(self.root):
                    self.source(path.resolve().relative_to(self.root).as_posix())

    def open(self, finding: Finding) -> None:
        """Reads the files that a finding speaks of."""
        self.owners |= set(finding.facts.get("owners") or ())
        for place in (finding.failed, finding.used, finding.freed, finding.built, *(r.place for r in finding.remedies)):
            if place:
                self.source(place.file)
        for place, stack in (
            (finding.freed, "freed_stack"),
            (finding.failed, "used_stack"),
            (finding.built, "built_stack"),
        ):
            known = finding.facts.get(stack)
            if place and isinstance(known, list):
                lines = {(p["file"], p["line"]) for p in known if isinstance(p, dict) and "file" in p and "line" in p}
                self._stacks[place] = self._stacks.get(place, set()) | lines
        for one in finding.facts.get("under_way") or ():
            self._lasting.add((one["file"], one["line"]))

    def lasts(self, source: Source, statement: cst.CSTNode) -> bool:
        """Whether both passes ran within one run of a statement: what is put behind it comes too late."""
        first, last = source.line_of(statement), source.last_line(statement)
        return any(file == source.file and first <= line <= last for file, line in self._lasting)

    @property
    def sources(self) -> list[Source]:
        return [s for s in self._known.values() if s]

    # -- places -------------------------------------------------------------------------------------------------------
    def at(self, place: Place | None) -> tuple[Source, cst.BaseStatement] | None:
        """The statement at a place."""
        source = self.source(place.file) if place else None
        statement = source.at(place.line) if source and place else None
        return (source, statement) if source and statement else None

    @cached_property
    def by_name(self) -> dict[str, list[tuple[Source, cst.FunctionDef]]]:
        found: dict[str, list[tuple[Source, cst.FunctionDef]]] = defaultdict(list)
        for source in self.sources:
            for function in source.functions:
                found[function.name.value].append((source, function))
        return found

    def callees(self, call: cst.Call) -> list[tuple[Source, cst.FunctionDef]]:
        """The user's functions that a call may enter, by name."""
        func = call.func
        name = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", None)
        if not isinstance(name, str):
            return []
        if name in self.by_name:
            return [(s, f) for s, f in self.by_name[name] if self._may_be(call, s, f)]
        classes = [(s, c) for s in self.sources for c in s.classes if c.name.value == name]
        if classes:
            return [
                (s, f) for s, c in classes for f in s.functions if s.class_of(f) is c and f.name.value == "__init__"
            ]
        if name in _METHODS or (dotted(func) or "").split(".")[0] in _LIBRARIES:
            return []
        return [*self.by_name.get("forward", []), *self.by_name.get("__call__", [])]

    def _may_be(self, call: cst.Call, source: Source, function: cst.FunctionDef) -> bool:
        """Whether a call by this name can mean this function: a method needs an object, and no optimizer has it."""
        method = source.class_of(function) is not None and isinstance(source.owner(function), cst.ClassDef)
        if not isinstance(call.func, cst.Attribute):
            return not method
        holder = dotted(call.func.value) or ""
        if self._is_optimizer(holder) or (
            call.func.attr.value in {"backward", "zero_grad"} and holder not in {"self", "cls"}
        ):
            return False
        return method or holder not in {"self", "cls"}

    def _is_optimizer(self, name: str) -> bool:
        return False

    def leads_to(self, source: Source, node: cst.CSTNode, place: Place) -> bool:
        """Whether running a node comes to a place, in it or through calls of the user's functions."""
        first, last = source.line_of(node), source.last_line(node)
        if source.file == place.file and first <= place.line <= last:
            return True
        if any(file == source.file and first <= line <= last for file, line in self._stacks.get(place, ())):
            return True
        leading = self._leading(place)
        return any(id(f) in leading for f in self._entered(node))

    def _leading(self, place: Place) -> set[int]:
        """The functions that come to a place, by identity."""
        return self.once(("leading", place), lambda: self._find_leading(place))

    def _find_leading(self, place: Place) -> set[int]:
        every = [(s, f) for s in self.sources for f in s.functions]
        found = {id(f) for s, f in every if s.file == place.file and s.line_of(f) <= place.line <= s.last_line(f)}
        for _ in range(_DEPTH):
            more = {id(f) for _, f in every if id(f) not in found and any(id(g) in found for g in self._entered(f))}
            if not more:
                break
            found |= more
        return found

    def _entered(self, node: cst.CSTNode) -> list[cst.FunctionDef]:
        """The user's functions that a node calls or hands over (a closure to an optimizer, a callback to a trainer)."""

        def find() -> list[cst.FunctionDef]:
            out = [f for call in calls(node) for _, f in self.callees(call)]
            for call in calls(node):
                for arg in call.args:
                    if isinstance(arg.value, cst.Name):
                        out += [f for _, f in self.by_name.get(arg.value.value, [])]
            return out

        return self.once(("entered", id(node)), find)

    def once(self, key: tuple[object, ...], find: Callable[[], T]) -> T:
        """Findings about a tree do not change: each is made once. Reading another file starts anew."""
        if key not in self._memo:
            self._memo[key] = find()
        return self._memo[key]  # type: ignore[return-value]

    def sites(self, source: Source, scope: Scope, place: Place) -> list[cst.SimpleStatementLine]:
        """The simple statements of one function that lead to a place, in the order of the text."""
        found = [
            s
            for s in simple(source.body(scope))
            if isinstance(s, cst.SimpleStatementLine) and self.leads_to(source, s, place)
        ]
        exact = [s for s in found if source.line_of(s) <= place.line <= source.last_line(s)]
        if exact and source.file == place.file:
            return exact
        seen = {line for file, line in self._stacks.get(place, ()) if file == source.file}
        on_stack = [s for s in found if any(source.line_of(s) <= line <= source.last_line(s) for line in seen)]
        return on_stack or found

    def scopes(self, *places: Place | None) -> list[tuple[Source, Scope]]:
        """The functions around some places, then those that lead there, then modules; each once."""
        return self.once(("scopes", places), lambda: self._find_scopes(places))

    def _find_scopes(self, places: tuple[Place | None, ...]) -> list[tuple[Source, Scope]]:
        found: list[tuple[Source, Scope]] = []
        for place in places:
            here = self.at(place)
            if here:
                source, statement = here
                found.append((source, source.scope(statement)))
                found += [(source, f) for f in source.up(statement) if isinstance(f, cst.FunctionDef)]
        for place in places:
            if place:
                for source in self.sources:
                    found += [(source, f) for f in source.functions if self.leads_to(source, f, place)]
                    found.append((source, source.module))
        seen: set[int] = set()
        return [(s, f) for s, f in found if not (id(f) in seen or seen.add(id(f)))]  # type: ignore[func-returns-value]


def _read(path: Path) -> str:
    with path.open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
        file.seek(0)
        return file.read().decode(encoding)


def _imports(source: Source) -> set[str]:
    names = set()
    for node in walk(source.module):
        if isinstance(node, cst.Import):
            names |= {(dotted(a.name) or "").replace(".", "/") for a in node.names}
        elif isinstance(node, cst.ImportFrom):
            base = (dotted(node.module) or "").replace(".", "/") if node.module else ""
            names.add(base)
            if not isinstance(node.names, cst.ImportStar):
                names |= {f"{base}/{dotted(a.name)}".lstrip("/") for a in node.names}
    return names - {""}
