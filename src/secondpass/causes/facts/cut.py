# SPDX-License-Identifier: BSD-3-Clause
"""Where history ended: following a loss without history back to the place that lost it.

NOTE [ Finding a cut ]
Of every statement that ran it is known whether nodes were recorded, so no value has to be looked at. Two questions are asked of
an expression of such a statement, and each is answered by what the value was made of (`made.Values`):
1. Has its value a history (`has`)? Where the value itself was seen when the pass failed, that is the answer. A cut in so many
   words (`.detach()`, `> 0.5`) has none. What a function of the user's returned has what its `return` says. Otherwise it has
   one if something that it reads has, and nodes were recorded in its statement.
2. Where was it lost (`lost`), if it has none? A cut of something that has a history is the place. So is a statement that reads
   something with a history and recorded nothing: gradients are switched off there, or the operation has none. Otherwise the
   question goes on to whatever the value was made of.
3. Nothing on the way has a history: gradients were switched off around the forward (`no_grad`), or nothing in it requires them
   (frozen, never a parameter).
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ...record import Cut, Failure, Pass, Place, Trace
from ...source import Effect, cut_of, effects, records_nothing, root_of
from .executed import Run, ran
from .made import EACH, Part, Picks, Values, element, is_chain, operands
from .steps import next_to_step

__all__ = ["Search", "constant_terms", "find_cut"]

_PARAMETERS = ("parameters", "named_parameters", "state_dict")
_DEPTH = 60
_FLOW = 2000
_SUMMED = 24
_BY_MISTAKE = ("item", "numpy", "wrap", "no_grad")
_PASSED_ON = frozenset(
    "to cpu cuda float double half type type_as contiguous items values keys get pop popleft popitem requires_grad_ "
    "squeeze view reshape flatten".split()
)
"""Methods that may hand a value on as it is, without a node."""


@dataclass
class _Found:
    kind: str
    name: str
    at: Run | None
    place: Place | None = None
    operand: ast.expr | None = None
    """What is cut, of a cut in so many words."""


def find_cut(trace: Trace, used: Pass) -> Cut | None:
    """The place where the root of a pass lost its history."""
    seen = next((c for c in reversed(trace.cuts) if c.when <= used.when and c.kind != "checkpoint"), None)
    if seen is not None:
        return seen
    if used.recording is False and trace.switches:
        # Recording was still switched off: whatever was computed, this is why it has no history.
        switch = trace.switches[-1]
        return Cut(used.when, "no_grad", "", switch.place)
    runs = ran(trace)
    if not runs:
        return None
    last = next((r for r in reversed(runs) if r.place == used.place), runs[-1])
    root = root_of(last.node)
    if root is None:
        # A framework makes the pass: its loss is what it was given last, by what it calls itself.
        given = (r for r in reversed(runs) if r.call.caller is None or r.call.caller is last)
        back = next((r for r in given if isinstance(r.node, ast.Return)), None)
        if back is None or not isinstance(back.node, ast.Return) or back.node.value is None:
            return None
        root, last = back.node.value, back
    failure = next((f for f in trace.failures if f.when == used.when), None)
    search = Search(runs, last, failure)
    frozen = _frozen(trace, used)
    found = search.frozen(_names(trace, frozen)) if frozen else None
    found = found or search.lost(root, last) or search.never_recorded(root, last)
    if found is None or found.kind == "unknown":
        bare = {c.place for c in trace.cuts if c.kind == "checkpoint"}
        run = next((r for r in search.behind(root, last) if r.place in bare), None) if bare else None
        found = _Found("checkpoint", "", run) if run is not None else found
    if found is None:
        return None
    place = found.place or (found.at.place if found.at is not None else None)
    return Cut(used.when, found.kind, found.name, place)


def _frozen(trace: Trace, used: Pass) -> set[int]:
    """Leaves that a pass is for and that require no gradient any more: those that it reached before, or all that the optimizer
    owns whose step comes next. Nobody takes a network to train out of a loss by freezing it."""
    known = [o for o in trace.owners if o.requiring is not None and o.leaves]
    owned, requiring = {n for o in known for n in o.leaves}, {n for o in known for n in o.requiring or ()}
    if owned and not requiring:
        return owned
    before = [p for p in trace.passes if p.stack == used.stack and p.when < used.when and p.outcome == "ok"]
    reached = (
        owned & (before[-1].walked or set()) if before else {n for o in next_to_step(trace, used) for n in o.leaves}
    )
    return reached if reached <= owned and reached.isdisjoint(requiring) else set()


def _names(trace: Trace, leaves: set[int]) -> list[str]:
    return [trace.nodes[n].leaf or "" for n in leaves if n in trace.nodes]


def constant_terms(trace: Trace) -> Iterator[Cut]:
    """The places where terms of a loss, of which others are walked, lost their history.

    A term that is a constant trains nothing. Whoever writes `.detach()` knows that; a number, or a function under `no_grad`, is
    used by mistake. So it is where what was cut was recorded for no other pass."""
    runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
    walked = {n for p in trace.passes for n in p.walked or ()}
    places = {p.place: p for p in trace.passes if p.kind == "backward" and not p.nested and p.outcome == "ok"}
    search = Search(runs)
    for one in {r.place: r for r in runs if r.place in places}.values():
        root = root_of(one.node)
        terms = list(search.terms(root, one)) if root is not None else []
        if not any(search.has(*term) for term in terms):
            continue
        for term in terms:
            if term[1].built_itself and cut_of(term[0]) is None:
                continue  # nodes were recorded where it was computed
            found = search.lost_anew(*term) if not search.has(*term) else None
            if found is None or found.at is None or found.place is None or found.kind not in _BY_MISTAKE:
                continue
            source = None
            # Nothing else was made of what was cut, or only another number.
            if found.operand is not None and (found.kind == "item" or cut_of(term[0]) is not None):
                made = search.values.made(found.operand, found.at, ()) or ()
                source = next((m[1] for m in made), found.at)
            if source is None or walked.isdisjoint(range(source.began, source.ended)):
                whole = isinstance(term[1].node, ast.Assign) and term[1].node.value is term[0]
                name = term[1].targets[0] if whole and len(term[1].targets) == 1 else found.name
                yield Cut(places[one.place].when, found.kind, name, found.place)


class Search:
    def __init__(
        self, runs: list[Run], last: Run | None = None, failure: Failure | None = None, *, surely: bool = False
    ) -> None:
        self.runs, self.last, self.failure, self.values = runs, last, failure, Values(runs)
        self._surely = surely
        """Whether a value has a history only if it has one whichever branch of a conditional expression was taken."""
        self.requires = failure.requires if failure is not None else {}
        self.trained = frozenset(failure.trained) if failure is not None else frozenset()
        self._asked: set[tuple[int, int, Picks]] = set()
        self._known: dict[tuple[int, int, Picks], bool] = {}
        self._open: dict[tuple[int, int, Picks], int] = {}
        """The values that are being asked about, with their order: see `has`."""
        self._met = _FLOW
        """The first of those that was met again."""
        self._spent = 0
        self._makers: dict[tuple[int, int, Picks], tuple[Part, list[Part]]] = {}
        """The next expressions on the way of a flow, each with its own: one that is gone could leave its `id` to another."""

    # -- rule 2 ------------------------------------------------------------------------------------------------------------

    def lost(self, expr: ast.expr, at: Run, picks: Picks = (), depth: int = 0) -> _Found | None:
        """Where the value of an expression, or a part of it, lost its history."""
        expr, picks = self.values.part(expr, picks)
        key = (id(expr), id(at), picks)
        if key in self._asked or depth > _DEPTH:
            return None
        self._asked.add(key)
        for call in reversed(self.values.called(expr, at)):
            back = call.returned()
            if back is not None and isinstance(back.node, ast.Return) and back.node.value is not None:
                found = self.lost(back.node.value, back, picks, depth + 1)
                if found is not None:
                    return found
        if (cut := _cut(expr, picks)) is not None:
            kind, operand = cut
            operand = _before_conversion(operand, kind) if operand is not None else None
            if operand is None:
                return None
            if self.has(operand, at):
                return _Found(kind, self.shown(operand, at), at, replace(at.place, line=expr.lineno), operand)
            return self.lost(operand, at, (), depth + 1)
        made = self.values.made(expr, at, picks)
        if made is not None:
            return self._first(made, depth)
        inner = operands(expr)
        if self._joins_lists(expr, at, picks):
            return self._first([(o, at, picks) for o in inner], depth)
        if not _holds(expr) and not at.built:
            live = next((o for o in inner if self.has(o, at)), None)
            if live is not None and (self.off(at) is not None or (not _passes_on(expr) and self._sure.has(live, at))):
                return self._here(live, at)
        return self._first([(o, at, ()) for o in inner], depth)

    @cached_property
    def _sure(self) -> Search:
        """That nothing was recorded of a value says which branch of a conditional expression it came from."""
        return self if self._surely else Search(self.runs, self.last, self.failure, surely=True)

    def lost_anew(self, expr: ast.expr, at: Run, picks: Picks = ()) -> _Found | None:
        """The same, whatever was asked before."""
        self._asked.clear()
        return self.lost(expr, at, picks)

    def terms(self, expr: ast.expr, at: Run, picks: Picks = (), depth: int = 0) -> Iterator[Part]:
        """What a sum is made of, through names, functions and containers."""
        expr, picks = self.values.part(expr, picks)
        further: list[Part] = []
        if depth > _SUMMED:
            pass
        elif isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
            further = [(expr.left, at, ()), (expr.right, at, ())]
        elif isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Mult, ast.Div)):
            if any(isinstance(o, ast.Constant) and o.value == 0 for o in (expr.left, expr.right)):
                return  # switched off
            both = [o for o in (expr.left, expr.right) if not self._is_given(o, at)]
            made = [o for o in both if self.has(o, at) or self.lost_anew(o, at) is not None]
            further = [(made[0], at, ())] if len(made) == 1 else []
        elif isinstance(expr, ast.UnaryOp):
            further = [(expr.operand, at, ())]
        elif picks[:1] == (EACH,) and isinstance(expr, (ast.Tuple, ast.List, ast.Dict)):
            inside = expr.values if isinstance(expr, ast.Dict) else expr.elts
            further = [(e, at, picks[1:]) for e in inside]
        elif calls := self.values.called(expr, at):
            backs = [b for call in calls if (b := call.returned()) is not None]
            further = [(b.node.value, b, picks) for b in backs if isinstance(b.node, ast.Return) and b.node.value]
        elif isinstance(expr, ast.Call) and ast.unparse(expr.func) == "sum" and expr.args:
            further = [(part, where, way) for part, where, way in element(expr.args[0], at, ())]
        else:
            further = self.values.made(expr, at, picks) or []
        if not further:
            yield expr, at, picks
        for part in further:
            yield from self.terms(*part, depth + 1)

    def _is_given(self, expr: ast.expr, at: Run, picks: Picks = ()) -> bool:
        """Whether a value is nothing that the statements made: a setting, a weight."""
        expr, picks = self.values.part(expr, picks)
        if isinstance(expr, ast.Constant):
            return True
        if not is_chain(expr) and not isinstance(expr, ast.Subscript):
            return False
        made = self.values.made(expr, at, picks) if is_chain(expr) else [(o, at, ()) for o in operands(expr)[:1]]
        return made is None or (bool(made) and all(self._is_given(*one) for one in made[:4] if one[0] is not expr))

    def _first(self, parts: list[Part], depth: int) -> _Found | None:
        for expr, at, picks in parts:
            found = self.lost(expr, at, picks, depth + 1)
            if found is not None:
                return found
        return None

    def _here(self, operand: ast.expr, at: Run) -> _Found:
        """What has a history is read, and nothing is recorded of it: recording is off, or the operation has no gradient."""
        place = self.off(at)
        if place is None:
            return _Found("unknown", self.shown(operand, at), at)
        outer = at
        while (caller := outer.call.caller) is not None and self.off(caller) == place:
            outer = caller  # what is computed last within it is what goes out of it
        names = self._going_out(outer, place) or _given_to(outer)
        return _Found("no_grad", next(iter(names), "") or self.shown(operand, at), at, place)

    def _going_out(self, at: Run, place: Place) -> list[str]:
        """What a function returns that a decorator switches recording off for."""
        back = at.call.returned()
        block = any(
            isinstance(s, (ast.With, ast.AsyncWith)) and s.lineno == place.line for s in at.source.path(at.place.line)
        )
        if block or back is None or not isinstance(back.node, ast.Return) or back.node.value is None:
            return []
        return [ast.unparse(back.node.value)] if is_chain(back.node.value) else _given_to(back)

    def shown(self, operand: ast.expr, at: Run) -> str:
        """What lost its history: the name that is cut; of a longer expression what it is given to, or else what it reads."""
        if self._is_name(operand, at):
            back = isinstance(at.node, ast.Return) and at.node.value is not None and _hands_back(at.node.value, operand)
            if back and isinstance(operand, ast.Name) and self.values.given(operand.id, at):
                # A function that cuts its argument and returns it: people know it by the name that the result gets.
                return next(iter(_given_to(at)), operand.id)
            return ast.unparse(operand).removesuffix(".data")
        own = _given_to(at, outside=False)
        todo = [] if own else [operand]
        while todo:
            node = todo.pop(0)
            if self._is_name(node, at):
                return ast.unparse(node)
            if not self.values.called(node, at):
                todo += [o for o in operands(node) if self.has(o, at)]
        return next(iter(own or _given_to(at)), "")

    def _is_name(self, expr: ast.expr, at: Run) -> bool:
        """Whether it is a name that is known outside its expression, or a part of one."""
        while isinstance(expr, ast.Subscript):
            expr = expr.value
        root: ast.expr = expr
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and is_chain(expr) and not self.values.is_inner(root, at)

    # -- rule 1 ------------------------------------------------------------------------------------------------------------

    def has(self, expr: ast.expr, at: Run, picks: Picks = (), depth: int = 0) -> bool:
        """Whether the value of an expression, or a part of it, has a history."""
        expr, picks = self.values.part(expr, picks)
        key = (id(expr), id(at), picks)
        if key in self._known:
            return self._known[key]
        order = len(self._open)
        if key in self._open:  # what is built from its own value adds nothing to it
            self._met = min(self._met, self._open[key])
            return False
        before, self._met, self._open[key] = self._met, _FLOW, order
        found = depth <= _DEPTH and self._has(expr, at, picks, depth + 1)
        del self._open[key]
        self._spent += 1
        if found or self._met >= order or self._spent > _FLOW:
            self._known[key] = found  # otherwise it is only so for whoever asked on the way to itself
            self._met = _FLOW
        self._met = min(before, self._met)
        return found

    def _has(self, expr: ast.expr, at: Run, picks: Picks, depth: int) -> bool:
        called = self.values.called(expr, at)
        if called:
            backs = [b for call in called if (b := call.returned()) is not None and isinstance(b.node, ast.Return)]
            return any(self.has(b.node.value, b, picks, depth) for b in backs if b.node.value is not None)  # type: ignore[attr-defined]
        if (beginning := _new_leaf(expr)) is not None:
            return not any(self.has(o, at, (), depth) for o in beginning)
        if _cut(expr, picks) is not None:
            return False
        if is_chain(expr):
            seen = self._seen(ast.unparse(expr), at) if not picks else None
            if seen is not None:
                return seen
            if not picks and at.built_itself and self._is_parameter(self.known_as(ast.unparse(expr), at)):
                return True
        made = self.values.made(expr, at, picks)
        if made is not None:
            return any(self.has(*one, depth) for one in made)
        if is_chain(expr):  # nobody assigned it since: a parameter, or data
            return at.built_itself and not at.source.is_imported(expr)
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _PARAMETERS:
            return True
        inner = operands(expr)
        if self._surely and isinstance(expr, ast.IfExp):
            return all(self.has(o, at, picks, depth) for o in inner)
        if self._joins_lists(expr, at, picks):
            return any(self.has(o, at, picks, depth) for o in inner)
        if _holds(expr) or not at.built_itself:
            # Without a node it is handed on, or put into something.
            return (_holds(expr) or _passes_on(expr)) and any(self.has(o, at, (), depth) for o in inner)
        if any(self.has(o, at, (), depth) for o in inner):
            return True
        return isinstance(expr, ast.Call) and self._is_module(expr, at)

    def _joins_lists(self, expr: ast.expr, at: Run, picks: Picks) -> bool:
        """Whether an element is asked for of a sum that recorded nothing: lists were put together (`out + [x]`)."""
        joined = isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add)
        return joined and bool(picks) and not at.built_itself and self.off(at) is None

    def _seen(self, name: str, at: Run) -> bool | None:
        """In the function that was still running the values themselves were seen, if they are still the ones."""
        if self.last is None or name not in self.requires or at.call is not self.last.call:
            return None
        return self.requires[name] if self.values.same(name, at, self.last) else None

    def _is_parameter(self, path: str) -> bool:
        """Whether a path leads to one parameter that is trained, and not to a module of several."""
        return path in self.trained and not any(p.startswith(f"{path}.") for p in self.trained)

    def _is_module(self, call: ast.Call, at: Run) -> bool:
        """Whether what is called may have parameters of its own: it was not imported, and no value of the statement's was cut
        on the way in (then the nodes are those of what was cut)."""
        if at.source.is_imported(call.func) or (isinstance(call.func, ast.Name) and hasattr(builtins, call.func.id)):
            return False
        if self.trained and self.known_as(ast.unparse(call.func), at) in self.trained:
            return True
        given = [*call.args, *(k.value for k in call.keywords)]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and not is_chain(owner) and ast.unparse(owner) != "super()":
            return False  # a method of a value
        if all(isinstance(g, (ast.Constant, ast.UnaryOp)) for g in given):
            return False  # modules are given values: `x.pow(2)`, `x.abs()` are operations
        return not any(_cut(n, ()) is not None for g in given for n in ast.walk(g) if isinstance(n, ast.expr))

    # -- rule 3 ------------------------------------------------------------------------------------------------------------

    def never_recorded(self, root: ast.expr, at: Run) -> _Found | None:
        """The forward that should have recorded something, and what kept it from doing so.

        A target that is made without gradients is as it should be; so of several such blocks on the way to the loss it is
        the one that runs what is trained."""
        behind = list(self.behind(root, at))
        off = [one for one in behind if self.off(one) is not None and _computes(one)]
        blocks = {self.off(one) for one in off if self.runs_trained(one)}
        # What leaves the block is what goes on without history.
        off = [one for one in off if self.off(one) in blocks] or off
        if not off:  # it came by a way that cannot be followed
            others = [r for r in reversed(self.runs) if r is not at and self.off(r) is not None and r not in behind]
            off = [one for one in others if _computes(one)]
        for one in off:
            names = _given_to(one)
            return _Found("no_grad", names[0] if names else "", one, self.off(one))
        frozen = self.frozen()
        if frozen is not None:
            return frozen
        made = next((m for m in self.values.made(root, at, ()) or ()), None)
        return _Found("unknown", ast.unparse(root), made[1]) if made is not None else None

    def behind(self, root: ast.expr, at: Run, *, cuts: bool = True) -> Iterator[Run]:
        """The statements that an expression's value was made by, the nearest first."""
        seen: set[int] = {id(at)}
        for _, where, _ in self.flow(root, at, cuts=cuts):
            if id(where) not in seen:
                seen.add(id(where))
                yield where

    def flow(self, root: ast.expr, at: Run, picks: Picks = (), *, cuts: bool = True) -> Iterator[Part]:
        """The expressions that an expression's value was made by, the nearest first; past cuts as well, or not."""
        expr, picks = self.values.part(root, picks)
        todo = deque([(expr, at, picks)])
        asked: set[tuple[int, int, Picks]] = set()
        while todo and len(asked) < _FLOW:
            one = expr, where, picks = todo.popleft()
            key = (id(expr), id(where), picks)
            if key in asked:
                continue
            asked.add(key)
            yield one
            if not cuts and _cut(expr, picks) is not None:
                continue
            if key not in self._makers:  # asked by many flows: they lead to the same statements
                self._makers[key] = one, self._made_by(*one)
            todo += self._makers[key][1]

    def _made_by(self, expr: ast.expr, at: Run, picks: Picks) -> list[Part]:
        """The next expressions on the way."""
        found: list[Part] = []
        for call in self.values.called(expr, at):
            back = call.returned()
            if back is not None and isinstance(back.node, ast.Return) and back.node.value is not None:
                found.append((back.node.value, back, picks))
        made = self.values.made(expr, at, picks)
        found += made if made is not None else [(o, at, ()) for o in operands(expr)]
        return [(inner, where, way) for e, where, w in found for inner, way in (self.values.part(e, w),)]

    def runs_trained(self, one: Run, depth: int = 0) -> bool:
        """Whether a statement, or a function that it calls, reads parameters that are trained."""
        chains = [n for n in ast.walk(one.node) if isinstance(n, (ast.Name, ast.Attribute)) and is_chain(n)]
        inside = {
            id(n.value) for n in chains if isinstance(n, ast.Attribute)
        }  # `self` holds all, `self.target` does not
        if any(self.known_as(ast.unparse(n), one) in self.trained for n in chains if id(n) not in inside):
            return True
        return depth < 8 and any(self.runs_trained(r, depth + 1) for call in one.inner for r in call.body)

    def known_as(self, name: str, at: Run, depth: int = 0) -> str:
        """What a path of a function is called where the pass failed: arguments go by what the caller gave for them."""
        caller = at.call.caller
        if name in self.trained or caller is None or depth > 8:
            return name
        base, dot, rest = name.partition(".")
        given = self.values.given(base, at)
        options = [given] if given is not None else [*self.values.receivers(base, at)]
        known = [self.known_as(ast.unparse(o) + dot + rest, caller, depth + 1) for o in options if is_chain(o)]
        return next((k for k in known if k in self.trained), known[0] if known else name)

    def frozen(self, leaves: Collection[str] = ()) -> _Found | None:
        """Where parameters were told not to require a gradient: those that go by some names, if one can see whose they are."""
        found = [
            (one, effect)
            for one in reversed(self.runs)
            if not isinstance(one.node, (ast.FunctionDef, ast.ClassDef))
            for effect in effects(one.node, "freeze")
            if not self._lets(effect, one)
        ]
        mine = (one for one, e in found if e.target is not None and self._leads_to(e.target, one, leaves))
        one = next(mine, found[0][0] if found else None)
        return _Found("frozen", "", one) if one is not None else None

    def _lets(self, effect: Effect, at: Run) -> bool:
        """Whether it said, in so many words, that a gradient is required."""
        value, depth = effect.value, 0
        while isinstance(value, ast.Name) and depth < 4 and (made := self.values.made(value, at, ())):
            (value, at, _), depth = made[0], depth + 1
        return isinstance(value, ast.Constant) and bool(value.value)

    def _leads_to(self, target: ast.expr, at: Run, leaves: Collection[str]) -> bool:
        """Whether a tensor, or what it was taken out of, goes by the name of some parameters, or of a module that has them."""
        todo: list[Part] = [(target, at, ())]
        for _ in range(_SUMMED):
            if not todo:
                break
            expr, where, picks = todo.pop(0)
            if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _PARAMETERS:
                expr = expr.func.value
            if is_chain(expr):
                name = self.known_as(ast.unparse(expr), where)
                if any(leaf == name or leaf.startswith(f"{name}.") for leaf in leaves):
                    return True
            todo += self.values.made(expr, where, picks) or ()
        return False

    def off(self, one: Run) -> Place | None:
        """The line that switches recording off around a statement, or around a call that it is in."""
        at: Run | None = None if one.built else one
        while at is not None:
            for stmt in reversed(at.source.path(at.place.line)):
                if isinstance(stmt, (ast.With, ast.AsyncWith)):
                    if any(self._switches(i.context_expr, at) for i in stmt.items):
                        return replace(at.place, line=stmt.lineno)
                if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    line = next((d.lineno for d in stmt.decorator_list if records_nothing(d)), None)
                    if line is not None:
                        return replace(at.place, line=line)
                    break
            at = at.call.caller
        return None

    def _switches(self, context: ast.expr, one: Run, depth: int = 0) -> bool:
        """Whether a block may have switched recording off: in so many words, by a value that says so, or in a function."""
        if any(records_nothing(n) for n in ast.walk(context) if isinstance(n, ast.expr)):
            return True
        # Whatever it was given: nothing was recorded.
        text = ast.unparse(context)
        if "set_grad_enabled" in text and "(True" not in text:
            return True
        if isinstance(context, ast.Call):
            name = ast.unparse(context.func).rpartition(".")[2]
            for function in one.source.functions(name):
                blocks = (n for n in ast.walk(function) if isinstance(n, (ast.With, ast.AsyncWith)))
                if any(records_nothing(i.context_expr) for b in blocks for i in b.items):
                    return True
        made = self.values.made(context, one, ()) if depth < 4 and is_chain(context) else None
        return any(self._switches(e, r, depth + 1) for e, r, _ in made or ())


def _cut(expr: ast.expr, picks: Picks) -> tuple[str, ast.expr | None] | None:
    """The cut that an expression makes itself, and what of."""
    return cut_of(expr, picks[0] if picks else None)


def _new_leaf(expr: ast.expr) -> list[ast.expr] | None:
    """What a tensor is made from that requires a gradient from the beginning. Made from nothing that was computed, it is a
    parameter; a loss that is made to require one is not."""
    if not isinstance(expr, ast.Call):
        return None
    if isinstance(expr.func, ast.Attribute) and expr.func.attr == "requires_grad_":
        return [expr.func.value] if not expr.args and not is_chain(expr.func.value) else None
    given = next((k.value for k in expr.keywords if k.arg == "requires_grad"), None)
    said = isinstance(given, ast.Constant) and bool(given.value)
    parameter = ast.unparse(expr.func).rpartition(".")[2] == "Parameter" and given is None
    return [*expr.args, *(k.value for k in expr.keywords)] if said or parameter else None


def _hands_back(value: ast.expr, operand: ast.expr) -> bool:
    """Whether a value is an operand as it is, but for the cut and conversions."""
    while value is not operand:
        inner = cut_of(value)
        if inner is not None and inner[1] is not None:
            value = inner[1]
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PASSED_ON:
            value = value.func.value
        else:
            both = (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()
            return any(_hands_back(one, operand) for one in both)
    return True


def _before_conversion(operand: ast.expr, kind: str) -> ast.expr:
    """What is turned into a number or an array: `.detach()` on the way there is only what NumPy asks for."""
    at = operand
    while kind in ("item", "numpy", "wrap") and isinstance(at, ast.Call) and isinstance(at.func, ast.Attribute):
        if (cut := cut_of(at)) is not None and cut[0] == "detach" and cut[1] is not None:
            return cut[1]
        if at.func.attr not in _PASSED_ON:
            break
        at = at.func.value
    return operand


def _holds(expr: ast.expr) -> bool:
    """Whether an expression puts values together as they are: a tuple, a list, a dictionary."""
    return isinstance(
        expr,
        (
            ast.Tuple, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.IfExp,
            ast.BoolOp, ast.Starred, ast.NamedExpr, ast.Await,
        ),
    )  # fmt: skip


def _passes_on(expr: ast.expr) -> bool:
    """Whether a call may hand on what it was given without recording anything: a record is made of it, or it stays as it is."""
    if isinstance(expr, ast.Subscript):
        return True
    if not isinstance(expr, ast.Call):
        return False
    if isinstance(expr.func, ast.Attribute):
        return expr.func.attr in _PASSED_ON or expr.func.attr[:1].isupper()
    return True


def _given_to(one: Run, *, outside: bool = True) -> list[str]:
    """What a statement gives a value to; for a `return`, what its caller does."""
    names = one.targets or [ast.unparse(e.target) for e in effects(one.node, "store") if e.target is not None]
    caller = one.call.caller
    if outside and not names and isinstance(one.node, ast.Return) and caller is not None:
        return _given_to(caller)
    return names


def _computes(one: Run) -> bool:
    """Whether a statement itself, and not only what stands in its block, computes something."""
    return not hasattr(one.node, "body") and any(isinstance(n, (ast.Call, ast.BinOp)) for n in ast.walk(one.node))
