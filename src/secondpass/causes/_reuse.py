# SPDX-License-Identifier: BSD-3-Clause
"""What a pass that met spent history has in common with the pass that spent it: read once, asked by every cause.

NOTE [ The border ]
1. `used` is the failing pass, `freed` the pass that spent the failing node.
2. A node is old if it was there when `freed` began. Where the failing graph has new nodes, the border is between a new
   node and an old one that leads to the failing node: that old node is the entry, and what names it is the carrier. It
   need not be spent itself (its own last operations may lie off the way of `freed`).
3. Where nothing but sums and scalings is new (rule 4), the losses were both there before the first pass; the border
   then is between what
   `freed` spent and what only `used` walks.
4. Linear nodes (sums, means, products with constants) do not make a graph new: `(loss / 2).backward()` twice is the
   same
   loss twice.
"""

from __future__ import annotations

import ast
from functools import cached_property

from ..record import Carrier, Failure, Loop, Node, Pass, Place, Sighting, Step, Trace
from ._source import Source, assigned, heads, source_of

__all__ = ["LINEAR", "Reuse", "kept_from_before", "reuses"]

LINEAR = (
    "Add",
    "Sub",
    "RSub",
    "Rsub",
    "Mul",
    "Div",
    "Neg",
    "Sum",
    "Mean",
    "Stack",
    "Cat",
    "View",
    "UnsafeView",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Expand",
    "Clone",
    "Select",
    "Slice",
    "Permute",
    "Transpose",
    "T",
    "To",
    "ToCopy",
    "Alias",
    "ReshapeAlias",
    "Unbind",
    "Split",
    "Index",
)

SUMMING = tuple(name for name in LINEAR if name not in ("Mul", "Neg", "RSub", "Rsub", "Index"))
"""Linear operations that a sum of losses is made of. A product with something else makes another loss of it."""


def is_linear(node: Node) -> bool:
    """Whether a node only adds up, scales or rearranges."""
    return node.op.partition("Backward")[0] in LINEAR


def reuses(trace: Trace) -> list[Reuse]:
    """Every failure of the trace that met spent history."""
    found = []
    for failure in trace.failures:
        used = trace.at(failure.when)
        if failure.node not in trace.nodes or used is None:
            continue
        node = trace.nodes[failure.node]
        if failure.kind == "backward-twice" or (failure.kind == "inplace" and kept_from_before(trace, node, used)):
            found.append(Reuse(trace, failure, used, node))
    return found


def kept_from_before(trace: Trace, node: Node, used: Pass) -> Pass | None:
    """The pass of an earlier iteration that kept a node (`retain_graph=True`) which this one walks again.

    People meet the backward-twice error, keep the graph, and then meet an in-place error: a step has changed what the
    old graph saved. What is wrong is still that the old graph is reached at all.
    """
    for p in reversed(trace.passes):
        if (
            p.when < used.when
            and p.retain
            and p.stack == used.stack
            and p.walked is not None
            and node.number in p.walked
        ):
            return p
    return None


class Reuse:
    """One meeting of a pass with spent history."""

    def __init__(self, trace: Trace, failure: Failure, used: Pass, node: Node) -> None:
        self.trace, self.failure, self.used, self.node = trace, failure, used, node

    # -- the two passes ----------------------------------------------------------------------------------------------

    @cached_property
    def freed(self) -> Pass | None:
        """The pass that spent the failing node (or, for an in-place error, kept it)."""
        if self.failure.kind == "inplace":
            return kept_from_before(self.trace, self.node, self.used)
        before = [p for p in self.trace.passes if p.when < self.used.when and p.frees]
        known = [p for p in before if p.walked is not None and self.node.number in p.walked]
        if known:
            return known[-1]
        can = [p for p in before if p.walked is None and (self.node.when is None or self.node.when < p.when)]
        reach = [p for p in can if not p.roots or max(p.roots) >= self.node.number]
        return reach[0] if reach else can[-1] if can else None

    @cached_property
    def same_site(self) -> bool:
        """Whether both passes are the same call, reached in the same way."""
        return self.freed is not None and self.freed.stack == self.used.stack and bool(self.used.stack)

    @cached_property
    def same_call(self) -> bool:
        """Whether both ran inside one and the same outer pass: no pass that is not nested began in between."""
        freed = self.freed
        if freed is None:
            return False
        return not any(freed.when < p.when <= self.used.when and not p.nested for p in self.trace.passes)

    @cached_property
    def same_root(self) -> bool:
        """Whether both passes start from the same node."""
        return self.freed is not None and bool(set(self.freed.roots or ()) & set(self.used.roots or ()))

    # -- the border --------------------------------------------------------------------------------------------------

    def is_old(self, node: Node) -> bool:
        """Rule 2."""
        if self.freed is None or node.when is None:
            return bool(node.spent)
        if node.when < self.freed.when:
            return True
        loop = self._advanced
        if loop is None or node.loops is None:
            return False
        # Built after the first pass, but still in its iteration: `baseline = 0.9 * baseline + ...` below the backward.
        return any((x.file, x.line) == (loop.file, loop.line) and x.count == loop.count for x in node.loops)

    @cached_property
    def _advanced(self) -> Loop | None:
        """The innermost loop that went on between the two passes, as it stood at the first."""
        if self.freed is None or self.freed.loops is None or self.used.loops is None:
            return None
        now = {(x.file, x.line): x.count for x in self.used.loops}
        return next((x for x in self.freed.loops if now.get((x.file, x.line), x.count) > x.count), None)

    @cached_property
    def walked(self) -> dict[int, Node]:
        """The nodes of the failing pass."""
        return {n.number: n for n in self.trace.history(*(self.used.roots or ()))}

    @cached_property
    def new(self) -> list[Node]:
        """What the failing pass has that was not there when the first one began."""
        return [n for n in self.walked.values() if n.leaf is None and not self.is_old(n)]

    @cached_property
    def fresh(self) -> list[Node]:
        """The new nodes that are more than sums and scalings (rule 4)."""
        return [n for n in self.new if not is_linear(n)]

    @cached_property
    def _leading(self) -> set[int]:
        """Numbers of the nodes that lead to the failing node."""
        children: dict[int, list[int]] = {}
        for n in self.walked.values():
            for parent in n.parents or ():
                children.setdefault(parent, []).append(n.number)
        found, todo = {self.node.number}, [self.node.number]
        while todo:
            for child in children.get(todo.pop(), ()):
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    @cached_property
    def border(self) -> list[tuple[Node | None, Node]]:
        """(the node that consumes, the entry): see NOTE [ The border ]. The youngest entry comes first."""
        if self.fresh:
            found = self._edges(lambda n: not self.is_old(n))
            if found:
                return found
        found = self._edges(lambda n: not n.spent)
        if found:
            return found
        roots = [self.walked[r] for r in self.used.roots or () if r in self.walked]
        return [(None, r) for r in roots] or [(None, self.node)]

    def _edges(self, outside) -> list[tuple[Node | None, Node]]:  # type: ignore[no-untyped-def]
        found: list[tuple[Node | None, Node]] = []
        for n in self.walked.values():
            if n.leaf is not None or not outside(n):
                continue
            for number in n.parents or ():
                parent = self.walked.get(number)
                if parent is not None and parent.leaf is None and not outside(parent) and number in self._leading:
                    found.append((n, parent))
        return sorted(found, key=lambda e: -e[1].number)

    @cached_property
    def entry(self) -> Node:
        """Where old history enters."""
        return self.border[0][1]

    @cached_property
    def entries(self) -> list[Node]:
        """All the places where old history enters."""
        return list({e.number: e for _, e in self.border}.values())

    # -- names -------------------------------------------------------------------------------------------------------

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

    # -- loops -------------------------------------------------------------------------------------------------------

    @cached_property
    def crossed(self) -> Loop | None:
        """The loop of which the entry was built in an earlier iteration than the one that uses it."""
        if self.entry.loops is None or self.used.loops is None:
            return None
        built = {(x.file, x.line): x.count for x in self.entry.loops}
        return next((x for x in self.used.loops if built.get((x.file, x.line), x.count) < x.count), None)

    @cached_property
    def outside(self) -> Loop | None:
        """The loop around both passes, in different iterations, that the entry was built outside of."""
        if self.entry.loops is None or self.used.loops is None or self.freed is None or self.freed.loops is None:
            return None
        built = {(x.file, x.line) for x in self.entry.loops}
        then = {(x.file, x.line): x.count for x in self.freed.loops}
        for x in self.used.loops:
            if (x.file, x.line) not in built and then.get((x.file, x.line), x.count) < x.count:
                return x
        return None

    @cached_property
    def recalled(self) -> bool:
        """Whether the function that makes the pass was called again, and loops do not tell why (a closure, a
        framework)."""
        return self.same_site and not self.crossed and not self.outside

    @cached_property
    def built_in_call(self) -> bool:
        """Whether the entry was built inside the function that makes the pass (or one that it called)."""
        inside = {p.function for p in self.entry.stack}
        return bool(self.used.stack) and self.used.stack[0].function in inside

    @cached_property
    def recurs(self) -> bool:
        """Whether what was built anew at the entry's own place was built from the entry."""
        for n in self.new:
            if n.op != self.entry.op or n.place != self.entry.place or not self._behind(n, self.entry):
                continue
            # Without places, equal operations are all there is to go by; a name that never moved speaks against it.
            if n.place is not None or not self.bound_all_along:
                return True
        then = {s.name for s in self.bound_then}
        numbers = [s.number for s in self.trace.sightings if s.when == self.used.when and s.name in then]
        return any(
            k in self.walked and self._behind(self.walked[k], self.entry) and k != self.entry.number for k in numbers
        )

    def _behind(self, node: Node, old: Node) -> bool:
        return any(n.number == old.number for n in self.trace.history(*(node.parents or ())))

    @cached_property
    def rebound(self) -> bool:
        """Whether a name that held the entry at the first pass holds something else at the second."""
        now = {s.name: s.number for s in self.trace.sightings if s.when == self.used.when}
        return any(s.name in now and now[s.name] != s.number for s in self.bound_then)

    @cached_property
    def later(self) -> bool:
        """Whether the entry comes from an earlier iteration or call than the one that uses it."""
        return self.crossed is not None or self.recurs or self.rebound or (self.recalled and bool(self.new))

    # -- what happened in between --------------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> set[int]:
        """The leaves behind the entries."""
        return {n.number for e in self.entries for n in self.trace.history(e.number) if n.leaf is not None}

    @cached_property
    def steps_between(self) -> list[Step]:
        """Steps between the two passes."""
        if self.freed is None:
            return []
        return [s for s in self.trace.steps if self.freed.when < s.when < self.used.when]

    @cached_property
    def updated(self) -> bool | None:
        """Whether what the entry was computed from changed in between; None where the trace cannot tell."""
        if any(not s.leaves or set(s.leaves) & self.leaves for s in self.steps_between):
            return True
        if self.freed is not None and any(self.freed.when < w.when <= self.used.when for w in self.trace.writes):
            return True
        if any(s.inside and s.when < self.used.when for s in self.trace.steps[-1:]):
            return True
        return False if self.trace.steps or self.trace.owners else None

    @cached_property
    def linear_to_root(self) -> bool:
        """Whether every new way from the root to an entry only adds up (and divides by a count)."""
        return all(n.op.partition("Backward")[0] in SUMMING for n in self.new if self._leads_to_entry(n))

    @cached_property
    def scaled_to_root(self) -> bool:
        """The same with scalings allowed: a moving average of losses."""
        return all(is_linear(n) for n in self.new if self._leads_to_entry(n))

    def _leads_to_entry(self, node: Node) -> bool:
        wanted = {e.number for e in self.entries}
        return any(n.number in wanted for n in self.trace.history(node.number))

    @cached_property
    def entry_was_loss(self) -> bool:
        """Whether the first pass started from the entry, or from sums and scalings of it."""
        if self.freed is None:
            return False
        wanted = {e.number for e in self.entries}
        todo = list(self.freed.roots or ())
        seen: set[int] = set()
        while todo:
            number = todo.pop()
            if number in wanted:
                return True
            node = self.trace.nodes.get(number)
            if node is None or number in seen or not is_linear(node):
                continue
            seen.add(number)
            todo.extend(node.parents or ())
        # The root itself is gone from the graph: an entry that is a loss is as young as the root, or nearly.
        root = max(self.freed.roots or (-1,))
        return root not in self.trace.nodes and 0 <= root - self.entry.number <= 3

    # -- places ------------------------------------------------------------------------------------------------------

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
        return None


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


def expression(node: ast.AST | None) -> str:
    """An expression as text, or ""."""
    return ast.unparse(node) if node is not None else ""
