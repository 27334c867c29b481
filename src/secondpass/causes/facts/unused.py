# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of the output of a module whose parameters never get a gradient.

NOTE [ A branch that no loss uses ]
Parameters that never get a gradient may be meant to (an option that is off). They are not when the program runs them; what ran
in a few iterations, and which nodes the passes walked, is known (`Trace.window`). Two things may have happened to the output.
1. The loss is made of it, but past a cut (`detach`, `no_grad`, `argmax`): that is the place.
2. No loss is made of it, although somebody wanted one to be. That shows in one of these ways: a name that was there when a pass
   began led to one number with these parameters behind it; a statement makes one number of it (a loss); it is computed and
   nobody takes it; it is given a name that nobody reads, or to a function that does not read it.
An output that is left lying as it comes (a pooler, a value head while only the policy is trained) is no loss that was forgotten.
Nor is one of several losses of which now this one, now that one is sent through. What a library's own module computes on the
side is its business: see `Trace.libraries`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from ...record import Binding, Loop, Node, Owner, Place, Trace
from ...source import assigned, cut_of, heads, is_number, names_in, root_of
from .cut import Search
from .cutoff import cut_in_source
from .executed import Call, Run, calls_in, ran, recorded
from .lines import sources_of
from .made import Part, Picks, is_chain, operands
from .operations import adds, scales

__all__ = ["Branches", "CutOff", "Unused", "behind", "is_below", "never_read", "prefix_of", "since"]

_LAST = 200
"""How many statements, from the end, are asked: some iterations of most programs."""
_PASSES = 3
_DYNAMIC = frozenset("getattr children modules named_children named_modules _modules __dict__ vars".split())


@dataclass(frozen=True)
class CutOff:
    """Where an output is cut off from the loss."""

    kind: str
    place: Place
    name: str = ""
    """The parameter, or what holds it, where that itself is read and cut off, and not what a module makes of it."""


@dataclass(frozen=True)
class Unused:
    """A branch that no pass walks."""

    name: str
    """What holds its end; "" where nothing did when the passes began."""
    built: Place | None
    root: Place | None
    """The statement in which the branch is missing."""


class Branches:
    """What an optimizer's modules compute in the statements of a trace's window."""

    def __init__(self, trace: Trace, owner: Owner) -> None:
        self.trace, self.owner = trace, owner
        self.runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
        self.search = Search(self.runs)
        names = [trace.nodes[n].leaf or "" for n in owner.leaves if n in trace.nodes]
        parts = [name.split(".") for name in names]
        self.search.trained = frozenset(".".join(p[:k]) for p in parts for k in range(1, len(p) + 1))
        places = set(_passed(trace, owner) or [p.place for p in trace.passes if p.place and p.kind == "backward"])
        self._bare = {n for n in owner.bare or () if n in trace.nodes}
        self._made_by: dict[int, set[int]] = {}
        self.passes = [r for r in self.runs if r.place in places and root_of(r.node) is not None]
        self.passes = self.passes or list(_handed_back(trace, self.runs, places))
        """The statements that say what the passes start from."""

    def cut_off(self, module: str) -> CutOff | None:
        """Rule 1."""
        for seen in (c for c in self.trace.cuts if c.kind == "checkpoint" and c.place is not None):
            if any(
                is_below(self.trace.nodes[n].leaf or "", module) for n in self._bare.intersection(seen.leaves or ())
            ):
                assert seen.place is not None
                return CutOff("checkpoint", seen.place)
        if self.trace.window is None:
            leaves = sorted(p for p in self.search.trained if p.startswith(module))
            place, kind = cut_in_source(self.trace, module, leaves)
            return CutOff(kind, place) if place is not None else None
        found: dict[CutOff, bool] = {}
        for one in self._last_passes():
            root = _root(one)
            for expr, at, picks in self.search.flow(root, one) if root is not None else ():
                if self._is_run(expr, at, module) and (place := self.search.off(at)) is not None:
                    return CutOff("no_grad", place)
                cut = cut_of(expr, picks[0] if picks else None)
                if cut is None or cut[1] is None or any(c.place == at.place and live for c, live in found.items()):
                    continue
                runs = (part for part in self.search.flow(cut[1], at) if self._is_run(part[0], part[1], module))
                if (used := next(runs, None)) is not None:
                    path = self.search.known_as(ast.unparse(used[0]), used[1]) if is_chain(used[0]) else ""
                    name = path if path in self.search.trained else ""
                    found[CutOff(cut[0], at.place, name)] = self.search.has(cut[1], at)
        # The one that cuts what still had a history; later ones had nothing left to cut.
        return max(found, key=lambda cut: found[cut]) if found else None

    def unused(self, module: str, leaves: set[int], *, compared: bool = False) -> Unused | None:
        """Rule 2, for a module with these leaves of the optimizer; only of a number in which its output is compared with
        something else, or weighted, where that is asked for: of such a number one is sure that it was to be a loss."""
        trace, first = self.trace, since(self.trace, self.owner)
        held = [b for b in trace.bindings if b.single and leaves & set(b.leaves) and _is_late(trace, b.number, first)]
        held = [b for b in held if not self._is_choice(b)]
        if compared:
            held = [b for b in held if self._is_compared(b.number, module)]
        if (held and _is_option(trace, held)) or (compared and not held):
            return None
        if held:
            last = max(held, key=lambda b: (b.when, b.number))
            at = next((b for b in reversed(held) if b.name == last.name and recorded(self.runs, b.number)), last)
            end, name = recorded(self.runs, at.number), last.name
            if end is None:
                built = trace.nodes[last.number].place if last.number in trace.nodes else None
                passed = next(reversed(_passed(trace, self.owner)), None)
                return Unused(name, built, _summed(trace, last.number, built, passed))
        else:
            if trace.window is not None and (given := self._given_in_vain(module)) is not None:
                return given
            end, name = self._end(module), ""
            if end is None:
                return _dropped(trace, leaves, first) if trace.window is None else None
        return Unused(name, end.place, self._missing(end))

    # -- what runs ---------------------------------------------------------------------------------------------------------

    def _last_passes(self) -> list[Run]:
        return list({r.place: r for r in self.passes}.values())[-_PASSES:]

    def _is_run(self, expr: ast.expr, at: Run, module: str) -> bool:
        """Whether an expression calls a module, or a part of it, or reads the parameter."""
        if isinstance(expr, ast.Call):
            # `self.encoder.forward(x)`, `self.head.score(x)`: a method of it
            owner = expr.func.value if isinstance(expr.func, ast.Attribute) else None
            return self._leads(expr.func, at, module) or (
                owner is not None and is_chain(owner) and self._leads(owner, at, module)
            )
        return is_chain(expr) and self._leads(expr, at, module, whole=False)

    def _leads(self, expr: ast.expr, at: Run, module: str, *, whole: bool = True) -> bool:
        known = self.search.trained
        parts: list[Part] = [(expr, at, ())]
        inner, picks = self.search.values.part(expr, ())
        if not is_chain(expr) or (isinstance(expr, ast.Name) and expr.id not in known):
            parts = self.search.values.made(inner, at, picks) or [(inner, at, picks)]
        for one, where, way in parts:
            if not is_chain(one):
                continue
            path = self.search.known_as(ast.unparse(one), where)
            if path in known:
                if path == module or path.startswith(module + "."):
                    return True
                if way and module.startswith(path + "."):
                    element = module[len(path) + 1 :].partition(".")[0]
                    return type(way[0]) is not int or str(way[0]) == element
            elif isinstance(one, ast.Attribute) and not any(k.startswith(path) for k in known):
                # By what name the object goes here cannot be told: it is of the name of the module, or of a part, at least.
                part = f"{module}.{one.attr}"
                if part in known and (whole or self._is_one(part)):
                    return True
                named = next((p for p in reversed(module.split(".")) if not p.isdigit()), "")
                return (whole or self._is_one(module)) and one.attr == named
        return False

    def _is_one(self, module: str) -> bool:
        """Whether a name is that of a single parameter."""
        return module in self.search.trained and not any(k.startswith(f"{module}.") for k in self.search.trained)

    # -- where a branch ends -----------------------------------------------------------------------------------------------

    def _is_choice(self, held: Binding) -> bool:
        """Whether it lies among others of which some passes walk one and some another: each may have its turn."""
        above = held.path.parent
        if above is None:
            return False
        beside: dict[str, set[bool]] = {}
        for b in self.trace.bindings:
            one = self.trace.at(b.when) if b.path.parent == above and b.name != held.name else None
            if one is not None and one.walked is not None:
                beside.setdefault(b.name, set()).add(b.number in one.walked)
        return any(len(ways) == 2 for ways in beside.values())

    def _end(self, module: str) -> Run | None:
        """The last statement on the way from a module that recorded what no pass walked and should have been used."""
        walked = {n for p in self.trace.passes for n in p.walked or ()}
        plain = [r for r in self.runs if r.built and not hasattr(r.node, "body")]
        aside = [r for r in plain if any(n not in walked for n in range(r.began, r.ended))][-_LAST:]
        for first in (r for r in reversed(aside) if self._runs_in(r, module)):
            after = [r for r in aside if r.position > first.position]
            on = [r for r in after if id(first) in self._behind(r)]
            for one in (*reversed(on), first):
                for value in _values(one):
                    if (is_number(value) or self._is_loss(value, one)) and self._comes_from(value, one, module):
                        return one
                if isinstance(one.node, ast.Expr) and self._is_run(one.node.value, one, module):
                    return one
                if _is_dead(one):
                    return one
            for one in (r for r in self.runs if r.position >= first.position):
                if any(self._comes_from(value, one, module, (k,)) for k, value in _dead_parts(one)):
                    return one
        return None

    def _behind(self, one: Run) -> set[int]:
        """The statements that what a statement makes was made by."""
        if one.position not in self._made_by:
            self._made_by[one.position] = {id(r) for v in _values(one) for r in self.search.behind(v, one)}
        return self._made_by[one.position]

    def _given_in_vain(self, module: str) -> Unused | None:
        """The output of a module, given to a function that does not read that parameter."""
        for one in self.runs:
            for call in one.inner:
                for name in _never_read_parameters(call):
                    given = self.search.values.given(name, call.body[0])
                    if given is not None and self._comes_from(given, one, module):
                        shown = ast.unparse(given) if is_chain(given) else name
                        return Unused(shown, one.place, self._missing(call.body[0], inside=True))
        return None

    def _is_compared(self, number: int, module: str) -> bool:
        """Whether what a statement recorded is made of something else beside the output of a module."""
        end = recorded(self.runs, number)
        todo: list[Part] = [(v, end, ()) for v in _values(end)] if end is not None else []
        asked: set[tuple[int, int]] = set()
        while todo and len(asked) < _LAST:
            expr, at, picks = todo.pop()
            expr, picks = self.search.values.part(expr, picks)
            if (id(expr), id(at)) in asked or self._is_run(expr, at, module):
                continue
            asked.add((id(expr), id(at)))
            calls = self.search.values.called(expr, at)
            made = self.search.values.made(expr, at, picks) if not calls else []
            if made is None and is_chain(expr):
                if not at.source.is_imported(expr):
                    return True
                continue
            if any(self._is_data(*one, module) for one in made or ()):
                return True
            todo += made if made is not None else [(o, at, ()) for o in operands(expr)]
            backs = (b for call in calls if (b := call.returned()) is not None)
            todo += [(v, back, picks) for back in backs for v in _values(back)]
        return False

    def _is_data(self, value: ast.expr, at: Run, picks: Picks, module: str) -> bool:
        """Whether a value was computed where nothing is recorded, and not with a module."""
        computed = isinstance(value, ast.Call) and not isinstance(value.func, ast.Name) and not at.built
        return computed and not self._comes_from(value, at, module)

    def _comes_from(self, value: ast.expr, at: Run, module: str, picks: Picks = ()) -> bool:
        return any(self._is_run(e, r, module) for e, r, _ in self.search.flow(value, at, picks))

    def _runs_in(self, one: Run, module: str) -> bool:
        return any(self._is_run(n, one, module) for n in ast.walk(one.node) if isinstance(n, ast.expr))

    def _is_loss(self, value: ast.expr, at: Run) -> bool:
        """Whether what is called was made as a criterion: `nn.CrossEntropyLoss()`."""
        if not isinstance(value, ast.Call) or not is_chain(value.func):
            return False
        made = self.search.values.made(value.func, at, ()) or ()
        calls = [e.func for e, _, _ in made if isinstance(e, ast.Call)]
        return any(ast.unparse(f).endswith("Loss") for f in calls)

    def _missing(self, end: Run, *, inside: bool = False) -> Place | None:
        """The statement that makes the loss without the branch. The branch's value may have been handed on, by the functions
        that made it, to those that called them; the first statement from there on, in that function or further out, that the
        loss comes from; of several, the first that adds terms of the loss up, or hands one value on. At the latest the pass.

        :param inside: `end` is the first statement of a function that was given the value
        """
        for one in self.passes:
            root = _root(one) if one.position > end.position else None
            if root is None:
                continue
            made = {id(r) for r in self.search.behind(root, one)}
            sums = self._sums(one)
            at: Run | None = end if inside else self._handed_on(end)
            while at is not None:
                body = at.call.body
                found = [
                    r
                    for r in body[body.index(at) + (not inside or at is not end) :]
                    if id(r) in made and r.position < one.position
                ]
                if found:
                    adding = (r for r in found if not sums.isdisjoint(r.own) or _renames(r.node))
                    # What is computed of the same as the branch stands beside it: where they were to meet comes behind.
                    beside = _read(end.node) if at is end else frozenset()
                    first = next((r for r in found if not _read(r.node) <= beside), found[0])
                    return next(adding, next((r for r in found if _only_passes_on(r.node)), first)).place
                at = at.call.caller
            return one.place
        passes = _passed(self.trace, self.owner)
        return passes[-1] if passes else None

    def _handed_on(self, end: Run) -> Run | None:
        """The outermost statement that has the value of a branch: a function may return it, or leave it in an attribute."""
        if any("." in t for t in end.targets):
            return end.call.caller
        at = end
        while (caller := at.call.caller) is not None:
            back = at.call.returned()
            values = _values(back) if back is not None else []
            if back is None or (
                back is not at and not any(at in self.search.behind(v, back, cuts=False) for v in values)
            ):
                break
            at = caller
        return at

    def _sums(self, one: Run) -> set[int]:
        """The nodes next to the root of a pass that put several of its terms together."""
        at = (p for p in self.trace.passes if p.place == one.place and p.number is not None)
        used = next((p for p in at if one.began <= (p.number or 0) <= one.ended), None)
        found, todo = set[int](), list(used.roots or ()) if used is not None else []
        while todo and used is not None:
            number = todo.pop()
            op, parents = used.heads.get(number, ("", ()))
            node = Node(number, op, parents)
            if number not in found and (adds(node) or scales(node)):
                todo += parents
                if len(parents) > 1:
                    found.add(number)
        return found


def never_read(trace: Trace, module: str) -> Place | None:
    """Where a module of the user's is made, if no line of the program reads it: nothing can ever run it."""
    attribute = module.rpartition(".")[2]
    places: list[Place] = []
    for file, tree in sources_of(trace):
        names = list[str]()
        for node in ast.walk(tree.tree):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            names.append(name)
            if isinstance(node, ast.Attribute) and name == attribute and isinstance(node.ctx, ast.Store):
                places.append(Place(file, node.lineno, tree.function_name(node.lineno)))
            elif name == attribute or (isinstance(node, ast.Constant) and node.value == attribute):
                return None
        if any(p.file == file for p in places) and not _DYNAMIC.isdisjoint(names):
            return None  # it may be found by going over all that the module has
    return places[0] if len(places) == 1 else None


def is_below(leaf: str, name: str) -> bool:
    return leaf == name or leaf.startswith(name + ".")


def prefix_of(names: list[str]) -> str:
    """The module that all these parameters lie in."""
    columns = zip(*(name.split(".")[:-1] for name in names), strict=False)
    return ".".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))


def _values(one: Run) -> list[ast.expr]:
    """What a statement makes: of several together, each."""
    value = getattr(one.node, "value", None)
    if isinstance(value, (ast.Tuple, ast.List)):
        return value.elts
    if isinstance(value, ast.Dict):
        return value.values
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "dict" and not value.args:
        return [k.value for k in value.keywords]
    return [value] if isinstance(value, ast.expr) else []


def _is_dead(one: Run) -> bool:
    """Whether a statement gives a value to one name, and nobody reads it before the name is given another (or at all)."""
    node = one.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    function, name = one.source.function(one.place.line), node.targets[0].id
    body = one.call.body
    for later in body[body.index(one) + 1 :]:
        if any(name in names_in(head) for head in heads(later.node) if not isinstance(head, ast.Assign)):
            return False
        if isinstance(later.node, ast.Assign):
            if name in names_in(later.node.value):
                return False
            if name in later.targets:
                return True
    names = (n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return not isinstance(function, ast.Module) and not any(n.id == name for n in names)


def _dead_parts(one: Run) -> list[tuple[int, ast.expr]]:
    """Which of several values that one statement is given get names that nobody reads; `_` is for those that nobody is to read."""
    node = one.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Tuple):
        return []
    function = one.source.function(one.place.line)
    if isinstance(function, ast.Module) or not isinstance(node.value, ast.Call):
        return []  # anybody may read what a module has
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    named = [(k, t.id) for k, t in enumerate(node.targets[0].elts) if isinstance(t, ast.Name)]
    return [(k, node.value) for k, name in named if name not in read and not name.startswith("_")]


def _never_read_parameters(call: Call) -> list[str]:
    """The parameters of a function that none of its lines reads."""
    first = call.body[0]
    function = first.source.function(first.place.line)
    if isinstance(function, ast.Module):
        return []
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    return [n for n in names if n not in read and not n.startswith("_")] if "locals" not in read else []


def _read(node: ast.stmt) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _root(one: Run) -> ast.expr | None:
    """What a pass starts from: the root in its statement, or what a function has handed to the framework that makes it."""
    return one.node.value if isinstance(one.node, ast.Return) else root_of(one.node)


def _handed_back(trace: Trace, runs: list[Run], places: set[Place]) -> Iterator[Run]:
    """Where a framework makes the passes: the returns of the functions of the user's that it called last before each."""
    outermost = [c for c in calls_in(runs) if c.ended > c.began and (c.caller is None or c.caller.place in places)]
    for number in sorted(p.number for p in trace.passes if p.place in places and p.number is not None):
        before = [back for c in outermost if c.ended <= number and (back := c.returned()) is not None]
        yield from before[-1:]


def _passed(trace: Trace, owner: Owner) -> list[Place]:
    """Where the passes are whose gradients an optimizer's steps use."""
    used = {w for s in trace.steps if s.leaves == owner.leaves for whens in s.used.values() for w in whens or ()}
    return [p.place for p in trace.passes if p.place is not None and p.when in used]


def since(trace: Trace, owner: Owner) -> int:
    """The moment from which on what is computed with an optimizer's parameters is meant for it: its first step, where another
    optimizer had trained something before."""
    first = owner.first or 0
    return first if any(s.when < first and s.leaves != owner.leaves for s in trace.steps) else -1


def _is_late(trace: Trace, number: int, first: int) -> bool:
    """Whether a node was made at a moment or later, as far as that is known."""
    when = trace.nodes[number].when if number in trace.nodes else None
    return when is None or when >= first


def _dropped(trace: Trace, leaves: set[int], first: int) -> Unused | None:
    """A statement of a loop of which one turn is used and others are not: `for block in blocks: h = block(x)`."""
    walked = {n for p in trace.passes for n in p.walked or ()}
    used: dict[object, Loop] = {}
    for node in filter(None, map(trace.nodes.get, walked)):
        if node.loops:
            used[node.stack, node.when, node.loops[1:]] = node.loops[0]
    for node in trace.nodes.values():
        if not node.loops or node.number in walked or not _is_late(trace, node.number, first):
            continue
        loop, other = node.loops[0], used.get((node.stack, node.when, node.loops[1:]))
        if other is None or other == loop or not leaves & behind(trace, node.number):
            continue
        inside = [p for p in node.stack if p.file == loop.file and p.line >= loop.line]
        place = min(inside, key=lambda p: p.line, default=node.place)
        return Unused("", place, place)
    return None


def behind(trace: Trace, number: int) -> set[int]:
    """What lies behind a node, leaves among it."""
    found, todo = set[int](), [number]
    while todo:
        here = todo.pop()
        if here not in found and here in trace.nodes:
            found.add(here)
            todo.extend(trace.nodes[here].parents or ())
    return found


def _summed(trace: Trace, number: int, built: Place | None, passed: Place | None) -> Place | None:
    """The statement in which a branch is missing, where no statements were watched: the last one behind the branch, in its
    function, that makes what the pass walks; else the pass, if that is in the function too; else the end of the branch."""
    if built is None:
        return passed
    walked = {n for p in trace.passes[-1:] for n in p.walked or () if n > number}
    after = [n for n in walked if (p := trace.nodes[n].place) is not None and _scope(p) == _scope(built)]
    if after:
        return trace.nodes[max(after)].place
    return passed if passed is not None and _scope(passed) == _scope(built) else built


def _scope(place: Place) -> tuple[str, str]:
    return place.file, place.function


def _is_option(trace: Trace, held: list[Binding]) -> bool:
    """Whether a line that did not run reads the branch: a loss that a setting adds is not one that was forgotten."""
    if trace.called is None or trace.window is not None:
        return False  # `called` is all that ran where no statement was watched by itself
    there = {(p.file, p.line) for p in trace.called}
    places = {p for b in held if b.number in trace.nodes and (p := trace.nodes[b.number].place) is not None}
    for file, tree in sources_of(trace):
        made = [tree.statement(p.line) for p in places if p.file == file]
        names = {b.name for b in held} | {ast.unparse(t) for s in made if s is not None for t in assigned(s)}
        for stmt in tree.statements:
            if hasattr(stmt, "body") or (file, stmt.lineno) in there:
                continue
            if any(isinstance(n, ast.expr) and ast.unparse(n) in names for n in ast.walk(stmt)):
                return True
    return False


def _renames(node: ast.stmt) -> bool:
    """Whether a statement hands on what another name has, as it is: `total = first`, `return first`."""
    return isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.expr) and is_chain(node.value)


def _only_passes_on(node: ast.stmt) -> bool:
    """Whether a statement hands one value on (`return loss`, `total = 0.5 * first`): something to add was there, or should be."""
    value = getattr(node, "value", None)
    names = [n for n in ast.walk(value) if isinstance(n, ast.Name)] if value is not None else []
    return len(names) == 1 and not any(isinstance(n, (ast.Call, ast.Tuple)) for n in ast.walk(node))
