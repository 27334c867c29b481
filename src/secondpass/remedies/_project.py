# SPDX-License-Identifier: BSD-3-Clause
"""The user's files together: which statement leads to which line, what trains what, what has history."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import libcst as cst

from ..record import Finding, Place
from ._flow import _value_cut, calls, dotted, method_call, names_read, simple, written
from ._source import Source, Unreadable, children, walk

__all__ = ["Project"]

_DEPTH = 6
_MAKERS = re.compile(r"(^|\.)(nn\.\w*[A-Z]\w*|Parameter|Sequential|ModuleList|ModuleDict)$")
Scope = cst.FunctionDef | cst.Module
T = TypeVar("T")


class Project:
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
                self._known[file] = Source(file, text)
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
        for place in (finding.failed, finding.used, finding.freed, finding.built, *(r.place for r in finding.remedies)):
            if place:
                self.source(place.file)

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
            return [(s, f) for s, c in classes for f in s.functions if s.class_of(f) is c and f.name.value == "__init__"]
        return [*self.by_name.get("forward", []), *self.by_name.get("__call__", [])]

    def _may_be(self, call: cst.Call, source: Source, function: cst.FunctionDef) -> bool:
        """Whether a call by this name can mean this function: a method needs an object, and no optimizer has it."""
        method = source.class_of(function) is not None and isinstance(source.owner(function), cst.ClassDef)
        if not isinstance(call.func, cst.Attribute):
            return not method
        holder = dotted(call.func.value) or ""
        if holder in self.optimizers or (call.func.attr.value in {"backward", "zero_grad"} and holder not in {"self", "cls"}):
            return False
        return method or holder not in {"self", "cls"}

    def leads_to(self, source: Source, node: cst.CSTNode, place: Place) -> bool:
        """Whether running a node comes to a place, in it or through calls of the user's functions."""
        if source.file == place.file and source.line_of(node) <= place.line <= source.last_line(node):
            return True
        leading = self._leading(place)
        return any(id(f) in leading for f in self._entered(node))

    def _leading(self, place: Place) -> set[int]:
        """The functions that come to a place, by identity."""
        return self._once(("leading", place), lambda: self._find_leading(place))

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

        return self._once(("entered", id(node)), find)

    def _once(self, key: tuple[object, ...], find: Callable[[], T]) -> T:
        """Findings about a tree do not change: each is made once. Reading another file starts anew."""
        if key not in self._memo:
            self._memo[key] = find()
        return self._memo[key]  # type: ignore[return-value]

    def sites(self, source: Source, scope: Scope, place: Place) -> list[cst.BaseStatement]:
        """The simple statements of one function that lead to a place, in the order of the text."""
        found = [
            s
            for s in simple(source.body(scope))
            if isinstance(s, cst.SimpleStatementLine) and self.leads_to(source, s, place)
        ]
        exact = [s for s in found if source.line_of(s) <= place.line <= source.last_line(s)]
        return exact if exact and source.file == place.file else found

    def scopes(self, *places: Place | None) -> list[tuple[Source, Scope]]:
        """The functions around some places, then those that lead there, then modules; each once."""
        return self._once(("scopes", places), lambda: self._find_scopes(places))

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

    # -- what has history ---------------------------------------------------------------------------------------------
    def tracked(self, source: Source, scope: Scope) -> set[str]:
        """Names in a function that have history, or give it when they are called: parameters, modules, what uses them."""
        return set(self._once(("tracked", id(scope)), lambda: self._find_tracked(source, scope)))

    def _find_tracked(self, source: Source, scope: Scope) -> set[str]:
        names: set[str] = set()
        if isinstance(scope, cst.FunctionDef):
            outer = source.scope(scope)
            names |= self.tracked(source, outer) if outer is not scope else set()
            owner = source.class_of(scope)
            if owner:
                names |= self._attributes(source, owner)
            called = {dotted(c.func) for c in calls(scope)}
            trained = {n.removesuffix(".parameters") for n in called if n and n.endswith(".parameters")}
            own = [p.name.value for p in scope.params.params]
            names |= {p for p in own if (p in called and p not in self.by_name) or p in trained}
        statements = list(simple(source.body(scope)))
        for _ in range(2):  # a second turn for names that a loop carries back to its beginning
            for statement in statements:
                self._spread(source, statement, names)
        return names

    def _spread(self, source: Source, statement: cst.BaseStatement, names: set[str]) -> None:
        if isinstance(statement, cst.For):
            inner = {dotted(c.func) or "" for c in calls(statement)}
            if any(dotted(statement.target) and f"{dotted(statement.target)}.requires_grad_" == n for n in inner):
                names |= {n for n in names_read(statement.iter) if "." not in n}
            if names_read(statement.iter) & names:
                names |= written(statement)
            return
        if not isinstance(statement, cst.SimpleStatementLine) or _without_history(source, statement):
            return
        for small in statement.body:
            value = getattr(small, "value", None)
            if value is not None and isinstance(small, cst.Assign | cst.AnnAssign | cst.AugAssign):
                if self.gives_history(value, names):
                    names |= written(statement)
            elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
                func = small.value.func
                if isinstance(func, cst.Attribute) and func.attr.value in {"append", "extend", "add", "insert"}:
                    if any(self.gives_history(a.value, names) for a in small.value.args):
                        names |= {dotted(func.value) or ""} - {""}
                if isinstance(func, cst.Attribute) and func.attr.value == "requires_grad_" and dotted(func.value):
                    names.add(dotted(func.value) or "")

    def gives_history(self, value: cst.CSTNode, names: set[str]) -> bool:
        """Whether an expression reads something with history (and does not cut it), or makes a parameter or module."""
        if _value_cut(value):
            return False
        if isinstance(value, cst.Call):
            if self.makes_leaf(value):
                return True
            # The object of a method stands in for the method: `model.loss(x)` has the history of the model.
            below: list[cst.CSTNode] = [a.value for a in value.args]
            below.append(value.func)
            return any(self.gives_history(b, names) for b in below)
        name = dotted(value)
        if name is not None:
            return name in names or (isinstance(value, cst.Attribute | cst.Subscript) and self.gives_history(value.value, names))
        return any(self.gives_history(c, names) for c in children(value))

    def makes_leaf(self, call: cst.Call, depth: int = 2) -> bool:
        """Whether a call makes what is trained, or trains it: a module, a parameter, an optimizer."""
        return self._once(("leaf", id(call), depth), lambda: self._find_leaf(call, depth))

    def _find_leaf(self, call: cst.Call, depth: int) -> bool:
        func = dotted(call.func) or ""
        if (_MAKERS.search(func) and not func.endswith("Loss")) or func.endswith("requires_grad_") or self._is_module(func):
            return True
        if any(a.keyword and a.keyword.value == "requires_grad" for a in call.args) or _looks_like_optimizer(call):
            return True
        # A function of the user's that builds and returns one. A module that is called at once is used, not kept.
        for _, function in self.by_name.get(func.rsplit(".", 1)[-1], []) if depth else ():
            used = {id(c.func) for c in calls(function)}
            if any(self.makes_leaf(c, depth - 1) for c in calls(function) if id(c) not in used):
                return True
        return False

    def leaves(self, source: Source, scope: Scope) -> set[str]:
        """Names whose tensors are made leaves after the fact: `for p in params.values(): p.requires_grad_()`."""
        return self._once(("leaves", id(scope)), lambda: self._find_leaves(source, scope))

    def _find_leaves(self, source: Source, scope: Scope) -> set[str]:
        found: set[str] = set()
        for statement in simple(source.body(scope)):
            call = method_call(statement, "requires_grad_") if isinstance(statement, cst.SimpleStatementLine) else None
            if call is None or not isinstance(call.func, cst.Attribute) or not isinstance(statement.body[0], cst.Expr):
                continue
            name = dotted(call.func.value)
            found |= {name} if name else set()
            for loop in source.loops(statement):
                if isinstance(loop, cst.For) and name in written(loop):
                    found |= names_read(loop.iter)
        return found

    def _is_module(self, name: str) -> bool:
        return self._once(("module", name), lambda: self._find_module(name))

    def _find_module(self, name: str) -> bool:
        last = name.rsplit(".", 1)[-1]
        for source in self.sources:
            for found in source.classes:
                if found.name.value == last:
                    bases = [dotted(b.value) or "" for b in found.bases]
                    return any(b.endswith("Module") or self._is_module(b) for b in bases if b != name)
        return False

    def _attributes(self, source: Source, owner: cst.ClassDef) -> set[str]:
        """`self.x` that some method sets to a module or a parameter, or calls though it is no method."""
        return self._once(("attributes", id(owner)), lambda: self._find_attributes(source, owner))

    def _find_attributes(self, source: Source, owner: cst.ClassDef) -> set[str]:
        methods = [f for f in source.functions if source.class_of(f) is owner]
        own = {f.name.value for f in methods}
        names: set[str] = set()
        for method in methods:
            for statement in simple(source.body(method)):
                self._spread(source, statement, names)
        called = {dotted(c.func) or "" for m in methods for c in calls(m)}
        names |= {n for n in called if n.startswith("self.") and n.count(".") == 1 and n[5:] not in own}
        return {n for n in names if n.startswith("self.")}

    # -- what trains what ---------------------------------------------------------------------------------------------
    @cached_property
    def optimizers(self) -> dict[str, set[str]]:
        """An optimizer's name -> the names whose parameters it was given. Parameters of functions go by their own name."""
        found: dict[str, set[str]] = defaultdict(set)
        for source in self.sources:
            for statement in simple(source.module, nested=True):
                if not isinstance(statement, cst.SimpleStatementLine):
                    continue
                for small in statement.body:
                    value = getattr(small, "value", None)
                    if isinstance(small, cst.Assign | cst.AnnAssign) and value is not None:
                        for target, call in _pairs(small, value):
                            if _looks_like_optimizer(call):
                                read = {n for a in call.args for n in names_read(a)}
                                owners = {n.removesuffix(".parameters") for n in read if n.endswith(".parameters")}
                                found[target] |= owners or read - {"self"}
        return found


def _pairs(small: cst.Assign | cst.AnnAssign, value: cst.BaseExpression) -> list[tuple[str, cst.Call]]:
    """`a = f()` and `a, b = f(), g()` as pairs of a name and a call."""
    out: list[tuple[str, cst.Call]] = []
    places = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
    for place in places:
        if isinstance(place, cst.Tuple) and isinstance(value, cst.Tuple) and len(place.elements) == len(value.elements):
            both = [(p.value, v.value) for p, v in zip(place.elements, value.elements, strict=True)]
        else:
            both = [(place, value)]
        out += [(dotted(p) or "", v) for p, v in both if isinstance(v, cst.Call) and dotted(p)]
    return out


def _looks_like_optimizer(call: cst.Call) -> bool:
    name = dotted(call.func) or ""
    inner = any(isinstance(n, cst.Attribute) and n.attr.value == "parameters" for a in call.args for n in walk(a))
    return bool(re.search(r"(^|\.)(SGD|R?Adam\w*|NAdam|RMSprop|Adagrad|Adadelta|LBFGS|Rprop|ASGD|Adafactor|Muon|Lion)$", name)) or (
        inner and "optim" in name.lower()
    )


def _without_history(source: Source, statement: cst.CSTNode) -> bool:
    """Whether a statement stands under `no_grad` or `inference_mode`."""
    for outer in source.up(statement):
        if isinstance(outer, cst.With) and any(
            (dotted(getattr(i.item, "func", i.item)) or "").endswith(("no_grad", "inference_mode")) for i in outer.items
        ):
            return True
        if isinstance(outer, cst.FunctionDef):
            return any(
                (dotted(getattr(d.decorator, "func", d.decorator)) or "").endswith(("no_grad", "inference_mode"))
                for d in outer.decorators
            )
    return False


def _read(path: Path) -> str:
    import tokenize

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
