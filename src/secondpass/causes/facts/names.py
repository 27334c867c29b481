# SPDX-License-Identifier: BSD-3-Clause
"""By what name something is spoken of: the path that was seen, written as its author writes it."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from ...record import Binding, Carrier, Node, Path, Place, Trace
from ...source import Source, assigned, heads, reads
from .lines import source_of, sources_of, unparsed
from .meeting import Meeting

__all__ = ["Named", "as_written"]


class Named:
    """The names of what a meeting has met."""

    def __init__(self, meeting: Meeting) -> None:
        self.meeting, self.trace = meeting, meeting.trace

    def carrier(self, prefer: str = "now") -> Carrier | None:
        """What brings the entry into the new graph, as the source writes it."""
        meeting = self.meeting
        chosen = [b for b in meeting.bound_now if b.number == meeting.entry.number] or meeting.bound_now
        before = [b for b in meeting.bound_then if b.number == meeting.entry.number] or meeting.bound_then
        before = [b for b in before if b.path in self._led_by] or before
        groups = [chosen, before] if prefer == "now" else [before, chosen]
        groups = [[b for b in group if not self._ended(b)] for group in groups] + groups
        groups.append([b for e in meeting.entries for b in meeting.bindings(e)])
        for group in groups:
            best = min(group, key=self._plainness, default=None)
            if best is not None and len({b.path.root for b in group}) > 1 and best.path.scope == "local":
                # One node may give several values (a cell, a compiled region): which of them came back in is read.
                read = self._by_flow()
                best = min((b for b in group if read and b.path.root == read), key=self._plainness, default=best)
            if best is not None:
                return Carrier(as_written(self.trace, best.name, self.written), best.kind)
        flown = self._by_flow()
        if flown:
            return Carrier(flown, "attribute" if "." in flown else "local")
        if self.written:
            name = self.written[0]
            return Carrier(name, "attribute" if "." in name else "slot" if "[" in name else "local")
        return None

    @cached_property
    def _led_by(self) -> set[Path]:
        """The paths that still lead to the entry, or to what was built on it: a name that was given another value since has
        brought nothing."""
        meeting, trace = self.meeting, self.trace
        now = [b for b in trace.bindings if b.when == meeting.used.when]
        entry = meeting.entry.number
        return {b.path for b in now if any(n.number == entry for n in trace.history(b.number))}

    @cached_property
    def written(self) -> list[str]:
        """What the statements that built the entries assign, innermost first."""
        found: list[str] = []
        for node in (self.meeting.entry, *self.meeting.entries):
            for place in node.stack or ((node.place,) if node.place is not None else ()):
                source = source_of(self.trace, place)
                found += source.targets(place.line) if source is not None else []
        return list(dict.fromkeys(found))

    def _plainness(self, seen: Binding) -> tuple[int, int, int, int]:
        """Sorts names: those that the source assigns, then plain ones, then the shortest."""
        name = seen.name
        private = sum(w.key.startswith("__") for w in seen.path.ways)
        return (private, 0 if name in self.written else 1, len(seen.path.ways), len(name))

    def _ended(self, seen: Binding) -> bool:
        """Whether a name is a local of a function that was called anew in each turn of the loop between the passes: it
        cannot have brought anything from one to the next. An object that the caller gives can."""
        place = self._called_anew.get(seen.function) if seen.path.scope == "local" else None
        return place is not None and not (seen.path.ways and self._given(place, seen.path.root))

    def _given(self, place: Place, name: str) -> bool:
        """Whether a function's name holds what its caller gave it, all along."""
        source = source_of(self.trace, place)
        function = source.function(place.line) if source is not None else None
        if source is None or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        names = {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}
        return name in names and not any(source.function(s.lineno) is function for s in source.writes(name))

    @cached_property
    def _called_anew(self) -> dict[str, Place]:
        loop = self.meeting.advanced
        if loop is None:
            return {}
        for depth, place in enumerate(self.meeting.used.stack):
            source = source_of(self.trace, place) if place.file == loop.file else None
            if source is not None and source.function(place.line) is source.function(loop.line):
                return {p.function: p for p in self.meeting.used.stack[:depth]}
        return {}

    def _by_flow(self) -> str:
        """Of several names that one statement assigns (`out, h = rnn(x, h)`), the one that the new graph reads."""
        consumer = self.meeting.boundary[0][0]
        for made in self.meeting.entry.stack if consumer is not None else ():
            for use in consumer.stack if consumer is not None else ():
                if self.meeting.inside and use in self.meeting.used.stack:
                    continue  # the line of the pass, which computes again what it reads
                source = source_of(self.trace, made)
                if source is None or (made.file, made.function) != (use.file, use.function):
                    continue
                found = _flow(source, set(source.targets(made.line)), use.line)
                if found:
                    return found
        return ""

    # -- places ------------------------------------------------------------------------------------------------------

    def place(self, node: Node, name: str = "") -> Place | None:
        """Where a node was built: its line where it is known, else the line that assigns the name that held it."""
        if node.place is not None or not name:
            return node.place
        while (found := self._assigned(node, name)) is None and name.endswith("]"):
            name = name.rpartition("[")[0]  # `state.hidden[0]` is assigned where `state.hidden` is
        return found

    def _assigned(self, node: Node, name: str) -> Place | None:
        """Where the name that held a node is assigned."""
        shown, name = name, unparsed(name)
        for place in self.meeting.used.stack:
            source = source_of(self.trace, place)
            if source is None:
                continue
            function = source.function(place.line)
            lines = [s.lineno for s in source.writes(name) if source.function(s.lineno) is function]
            before = [n for n in lines if n < place.line]
            if lines:
                return Place(place.file, max(before or lines), place.function)
        return self._assigned_in(name, {b.function for b in self.meeting.bindings(node) if b.name == shown})

    def _assigned_in(self, name: str, functions: set[str]) -> Place | None:
        """The one line that assigns a name in some functions, or the only one in the whole program."""
        found: list[Place] = []
        others: list[Place] = []
        for file, source in sources_of(self.trace):
            for stmt in source.writes(name):
                function = source.function_name(stmt.lineno)
                inside = any(f.rpartition(".")[2] == function for f in functions)
                (found if inside else others).append(Place(file, stmt.lineno, function))
        chosen = found or others
        used = max((p.run for p in self.meeting.used.stack), default=0)
        if used and all(p.run for p in chosen):  # cells ran in the order of their numbers: the last one counts
            chosen = sorted((p for p in chosen if p.run <= used), key=lambda p: (p.run, p.line))[-1:]
        return chosen[0] if len(chosen) == 1 else None


def as_written(trace: Trace, name: str, written: Collection[str]) -> str:
    """`meters["loss"].total` is `self.total` where the class itself writes it; `net.table[0]` is `self.table[n]`."""
    if name in written or "." not in name:
        return name
    parts = name.split(".")
    own = f"self.{unparsed(parts[-1])}"
    base, slot, _ = own.partition("[")
    if own in written or (slot and any(w.startswith(f"{base}[") for w in written)):
        return own.replace("'", '"')
    for i in range(
        len(parts) - 2, 0, -1
    ):  # what its class writes may hold it further in: `self.q` of `self.q.base.scale`
        if f"self.{unparsed(parts[i])}" in written:
            return ".".join(["self", *parts[i:]])
    # Further than one attribute away, the name that its own class uses says more than the way to it.
    far = name.count(".") > 1 and any(source.writes(base) for _, source in sources_of(trace))
    return own.replace("'", '"') if far else name


def _flow(source: Source, targets: set[str], line: int) -> str:
    """Follows what a statement reads back to one of some targets; an attribute on the way is what carries it."""
    stmt = source.statement(line)
    todo = [(name, "") for part in (heads(stmt) if stmt is not None else ()) for name in reads(part)]
    seen: set[str] = set()
    while todo:
        name, carried = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        carried = carried or (name if "." in name else "")
        if name in targets:
            return carried or name
        for made in source.writes(name):
            if isinstance(made, ast.Assign) and name in map(ast.unparse, assigned(made)):
                todo += [(n, carried) for n in reads(made.value)]
    return ""
