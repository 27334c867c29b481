# SPDX-License-Identifier: BSD-3-Clause
"""What the program calls the old history that a pass met: the carrier, and the places that made it."""

from __future__ import annotations

import ast
from functools import cached_property

from ..record import Carrier, Node, Place, Sighting
from ._border import Border
from ._source import Source, assigned, heads, source_of

__all__ = ["Named"]


class Named(Border):
    """A meeting with spent history, and the names of what was met."""

    def sightings(self, node: Node, when: int | None = None) -> list[Sighting]:
        """The names that held a node."""
        return [s for s in self.trace.sightings if s.number == node.number and (when is None or s.when == when)]

    @cached_property
    def bound_now(self) -> list[Sighting]:
        """Names that hold an entry when the second pass begins."""
        return [s for e in self.entries for s in self.sightings(e, self.used.when)]

    @cached_property
    def bound_then(self) -> list[Sighting]:
        """Names that held an entry when the first pass began."""
        return [s for e in self.entries for s in self.sightings(e, self.freed.when)] if self.freed is not None else []

    @cached_property
    def bound_all_along(self) -> list[Sighting]:
        """Names that held the same entry at both passes: built once, used again."""
        then = {(s.name, s.number) for s in self.bound_then}
        return [s for s in self.bound_now if (s.name, s.number) in then]

    def built_by(self, node: Node) -> list[str]:
        """What the statements that built a node assign, innermost first."""
        found: list[str] = []
        for place in node.stack or ((node.place,) if node.place is not None else ()):
            source = source_of(self.trace, place)
            found += source.targets(place.line) if source is not None else []
        return list(dict.fromkeys(found))

    def carrier(self, prefer: str = "now") -> Carrier | None:
        """What brings the entry into the new graph, as the source writes it."""
        groups = [self.bound_now, self.bound_then] if prefer == "now" else [self.bound_then, self.bound_now]
        groups = [[s for s in group if not self._ended(s)] for group in groups] + groups
        written = [name for e in self.entries for name in self.built_by(e)]
        for group in groups:
            best = sorted(group, key=lambda s: _plainness(s.name, written))
            if best:
                return Carrier(_as_written(best[0].name, written, self._assignments), best[0].kind)
        anywhere = [s for e in self.entries for s in self.sightings(e)]
        if anywhere:
            best = sorted(anywhere, key=lambda s: _plainness(s.name, written))
            return Carrier(_as_written(best[0].name, written, self._assignments), best[0].kind)
        flown = self._by_flow()
        if flown:
            return Carrier(flown, "attribute" if "." in flown else "local")
        if written:
            return Carrier(written[0], "attribute" if "." in written[0] else "slot" if "[" in written[0] else "local")
        return None

    def _ended(self, seen: Sighting) -> bool:
        """Whether a name is a local of a function that was called anew in each turn of the loop between the passes: it
        cannot have brought anything from one to the next."""
        return seen.kind == "local" and seen.function in self._called_anew

    @cached_property
    def _called_anew(self) -> set[str]:
        loop = self._advanced
        if loop is None:
            return set()
        for depth, place in enumerate(self.used.stack):
            source = source_of(self.trace, place) if place.file == loop.file else None
            if source is not None and source.function(place.line) is source.function(loop.line):
                return {p.function for p in self.used.stack[:depth]}
        return set()

    @cached_property
    def _assignments(self) -> frozenset[str]:
        """Everything that the user's files assign to."""
        found: set[str] = set()
        for file in self.trace.sources:
            source = source_of(self.trace, Place(file, 1))
            for node in ast.walk(source.tree) if source is not None else ():
                found.update(ast.unparse(t) for t in assigned(node)) if isinstance(node, ast.stmt) else None
        return frozenset(found)

    def _by_flow(self) -> str:
        """Of several names that one statement assigns (`out, h = rnn(x, h)`), the one that the new graph reads."""
        consumer = self.border[0][0]
        if consumer is None:
            return ""
        for made in self.entry.stack:
            for use in consumer.stack:
                source = source_of(self.trace, made)
                if source is None or (made.file, made.function) != (use.file, use.function):
                    continue
                found = _flow(source, set(source.targets(made.line)), use.line)
                if found:
                    return found
        return ""

    def place(self, node: Node, name: str = "") -> Place | None:
        """Where a node was built: its line where it is known, else the line that assigns the name that held it."""
        if node.place is not None or not name:
            return node.place
        for place in self.used.stack:
            source = source_of(self.trace, place)
            if source is None:
                continue
            function = source.function(place.line)
            lines = [
                n.lineno
                for n in ast.walk(function)
                if isinstance(n, ast.stmt) and name in map(ast.unparse, assigned(n))
            ]
            before = [n for n in lines if n < place.line]
            if lines:
                return Place(place.file, max(before or lines), place.function)
        return self._assigned_in(name, {s.function for s in self.sightings(node) if s.name == name})

    def _assigned_in(self, name: str, functions: set[str]) -> Place | None:
        """The one line that assigns a name in some functions, or the only one in the whole program."""
        found: list[Place] = []
        others: list[Place] = []
        for file in self.trace.sources:
            source = source_of(self.trace, Place(file, 1))
            for node in ast.walk(source.tree) if source is not None else ():
                if isinstance(node, ast.stmt) and source is not None and name in map(ast.unparse, assigned(node)):
                    function = getattr(source.function(node.lineno), "name", "<module>")
                    inside = any(f.rpartition(".")[2] == function for f in functions)
                    (found if inside else others).append(Place(file, node.lineno, function))
        chosen = found or others
        return chosen[0] if len(chosen) == 1 else None


def _flow(source: Source, targets: set[str], line: int) -> str:
    """Follows what a statement reads back to one of some targets; an attribute on the way is what carries it."""
    stmt = source.statement(line)
    todo = [(name, "") for part in (heads(stmt) if stmt is not None else ()) for name in _chains(part)]
    seen: set[str] = set()
    while todo:
        name, carried = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        carried = carried or (name if "." in name else "")
        if name in targets:
            return carried or name
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Assign) and name in map(ast.unparse, assigned(node)):
                todo += [(n, carried) for n in _chains(node.value)]
    return ""


def _chains(node: ast.AST) -> list[str]:
    """The names and attributes that an expression reads; what is assigned or called is not read."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return [
        ast.unparse(n)
        for n in ast.walk(node)
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load) and id(n) not in called
    ]


def _plainness(name: str, written: list[str]) -> tuple[int, int, int]:
    """Sorts names: those that the source assigns, then plain ones, then the shortest."""
    return (0 if name in written else 1, name.count(".") + name.count("["), len(name))


def _as_written(name: str, written: list[str], assignments: frozenset[str] = frozenset()) -> str:
    """`meters["loss"].total` is `self.total` where the class itself writes it."""
    if name in written or "." not in name:
        return name
    own = f"self.{name.rpartition('.')[2]}"
    # Further than one attribute away, the name that its own class uses says more than the way to it.
    return own if own in written or (name.count(".") > 1 and own in assignments) else name
