# SPDX-License-Identifier: BSD-3-Clause
"""Where history ended: following a loss without history back to the place that lost it.

NOTE [ Finding a cut ]
A statement that records no node although something that it reads has history is where history ended. For every statement
that ran it is known whether nodes were recorded; so no value has to be looked at. From the loss back:
1. The statement that assigned it recorded nodes of its own, or cuts in so many words (`.detach()`, `.item()`, `> 0.5`):
   it is the cut, if what it reads was recorded.
2. It called a function of the user's: go on at what that function returned.
3. Otherwise go on at what it reads: locals, arguments (at the call), attributes (wherever they were assigned).
4. Nothing on the way recorded anything: gradients were switched off around the forward (`no_grad`), or nothing in it
   requires them (frozen, never a parameter).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...record import Cut, Failure, Pass, Place, Trace
from ...source import cut_kind, cut_of, effects, records_nothing, root_of
from .executed import Run, ran

__all__ = ["Search", "find_cut"]

_PARAMETERS = ("parameters", "named_parameters", "state_dict")
_DEPTH = 200


@dataclass
class _Found:
    kind: str
    name: str
    at: Run | None
    place: Place | None = None


def find_cut(trace: Trace, used: Pass) -> Cut | None:
    """The place where the root of a pass lost its history."""
    seen = next((c for c in reversed(trace.cuts) if c.when <= used.when), None)
    if seen is not None:
        return seen
    if used.recording is False and trace.switches:
        # Recording was still switched off: whatever was computed, this is why it has no history.
        switch = trace.switches[-1]
        return Cut(used.when, "no_grad", "", switch.place)
    runs = ran(trace)
    last = _last(runs)
    if last is None:
        return None
    root = root_of(last.node)
    if root is None:
        # A helper around backward: the loss came in as an argument further out.
        return None
    failure = next((f for f in trace.failures if f.when == used.when), None)
    search = Search(runs, last, failure)
    frozen = any(o.requiring is not None for o in trace.owners) and not any(o.requiring for o in trace.owners)
    found = search.frozen() if frozen else None
    found = found or search.expression(root, last, 0) or search.never_recorded(root, last)
    if found is None:
        return None
    place = found.place or (found.at.place if found.at is not None else None)
    return Cut(used.when, found.kind, found.name, place)


def _last(runs: list[Run]) -> Run | None:
    """The statement that was running at the end: the innermost one that had not ended."""
    return runs[-1] if runs else None


class Search:
    def __init__(self, runs: list[Run], last: Run | None = None, failure: Failure | None = None) -> None:
        self.runs, self.last = runs, last
        self.requires = failure.requires if failure is not None else {}
        self.trained = frozenset(failure.trained) if failure is not None else frozenset()
        self.seen: set[tuple[int, str]] = set()

    def expression(self, expr: ast.AST, at: Run, depth: int) -> _Found | None:
        """Rule 3 for everything that an expression reads."""
        if depth > _DEPTH:
            return None
        for name in _reads(expr):
            found = self.name(name, at, depth + 1)
            if found is not None:
                return found
        return None

    def name(self, name: str, at: Run, depth: int) -> _Found | None:
        key = (id(at), name)
        if key in self.seen:
            return None
        self.seen.add(key)
        made = self.definition(name, at)
        if made is None:
            return self.argument(name, at, depth)
        return self.statement(made, name, depth)

    def definition(self, name: str, at: Run) -> Run | None:
        """The statement that gave a name its value."""
        body = at.call.body
        for one in reversed(body[: body.index(at)] if at in body else body):
            if name in one.targets or _put_into(one.node, name) is not None:
                return one
        outside = _enclosing(at)
        if outside and "." not in name and name not in _parameters(at):
            for one in reversed(self.runs):
                if one.position < at.position and name in one.targets and _function(one) in outside:
                    return one
        if "." in name:
            suffix = name[name.index(".") :]
            for one in reversed(self.runs):
                if one.position < at.position and any(t.endswith(suffix) for t in one.targets):
                    return one
        return None

    def argument(self, name: str, at: Run, depth: int) -> _Found | None:
        """A parameter of a function: what the caller gave for it."""
        caller = at.call.caller
        if caller is None:
            return None
        function = at.source.function(at.place.line)
        if isinstance(function, ast.Module):
            return None
        base, dot, rest = name.partition(".")
        given = _given(function, caller, base)
        if given is None:
            return None
        text = ast.unparse(given) + dot + rest
        if isinstance(given, ast.Name) or dot:
            return self.name(text, caller, depth + 1)
        if caller.built and _has_calls(given):
            return None
        return self.expression(given, caller, depth + 1)

    def statement(self, one: Run, name: str, depth: int) -> _Found | None:
        """Rules 1 and 2."""
        value = _put_into(one.node, name) or getattr(one.node, "value", None) or getattr(one.node, "iter", None)
        if value is None:
            return None
        kind = cut_kind(value)
        if kind in ("data", "detach") and _of_parameters(value):
            return _Found(kind, name, one)
        if one.built_itself:
            return _Found(kind, name, one) if kind is not None else None
        for call in reversed(one.inner):
            back = call.returned()
            if back is not None and isinstance(back.node, ast.Return) and back.node.value is not None:
                found = self.returned(back, name, depth)
                if found is not None:
                    return found
        lost = self.recorded_operand(value, one)
        if lost is not None:
            return self.lost(kind, lost, one)
        return self.expression(value, one, depth + 1)

    def lost(self, kind: str | None, name: str, one: Run) -> _Found:
        """What was recorded is read, and nothing is recorded of it: in so many words, or because recording is off."""
        if kind is None:
            around = switch_around(one)
            if around is not None:
                shown = one.targets[0] if one.targets else name
                return _Found("no_grad", shown, one, Place(one.place.file, around, one.place.function))
        return _Found(kind or "unknown", name.removesuffix(".data"), one)

    def returned(self, back: Run, name: str, depth: int) -> _Found | None:
        value = back.node.value if isinstance(back.node, ast.Return) else None
        if value is None:
            return None
        kind = cut_kind(value)
        if back.built_itself:
            return _Found(kind, name, back) if kind is not None else None
        for call in reversed(back.inner):
            inner = call.returned()
            if inner is not None:
                found = self.returned(inner, name, depth + 1)
                if found is not None:
                    return found
        lost = self.recorded_operand(value, back)
        if lost is not None:
            return self.lost(kind, lost, back)
        return self.expression(value, back, depth + 1)

    def recorded_operand(self, value: ast.AST, at: Run, depth: int = 0) -> str | None:
        """Something that an expression reads and whose own statement recorded nodes without cutting."""
        for name in _reads(value):
            if self.recorded(name, at, depth):
                return name
        return None

    def recorded(self, name: str, at: Run, depth: int) -> bool:
        if depth > 40:
            return False
        made = self.definition(name, at)
        # In the function that was still running the values themselves were seen, if they are still the ones.
        live = self.last if name in self.requires else None
        if live is not None and at.call is live.call and made is self.definition(name, live):
            return self.requires[name]
        if made is not None:
            value = getattr(made.node, "value", None) or getattr(made.node, "iter", None)
            if made.built:
                return value is None or bool(made.inner) or self.flows(value, made, depth)
            plain = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple)) and cut_kind(value) is None
            return plain and value is not None and self.recorded_operand(value, made, depth + 1) is not None
        caller = at.call.caller
        function = at.source.function(at.place.line)
        if caller is None or isinstance(function, ast.Module):
            return False
        given = _given(function, caller, name.partition(".")[0])
        if given is None:
            return False
        if _has_calls(given):
            before = caller.inner.index(at.call) if at.call in caller.inner else 0
            earlier = caller.inner[before - 1].ended if before else caller.began
            return at.call.began > earlier or any(c.ended > c.began for c in caller.inner[:before])
        return self.recorded_operand(given, caller, depth + 1) is not None

    def flows(self, value: ast.AST, at: Run, depth: int) -> bool:
        """Whether history comes through an expression in whose statement nodes were recorded: past its cuts, if it has any."""
        if cut_kind(value) is None:
            return True
        if isinstance(value, ast.Call):
            if cut_of(value) is not None:
                return False
            if not at.source.is_imported(value.func):  # a module has parameters; a method belongs to a tensor
                owner = value.func.value if isinstance(value.func, ast.Attribute) else None
                if owner is None or isinstance(owner, (ast.Name, ast.Attribute)) or self.flows(owner, at, depth):
                    return True
            return any(
                self.flows(a, at, depth) for a in (*value.args, *(k.value for k in value.keywords)) if _has_calls(a)
            )
        if isinstance(value, (ast.Attribute, ast.Compare)) and cut_of(value) is not None:
            return False
        if isinstance(value, (ast.Name, ast.Attribute)):
            return self.recorded(ast.unparse(value), at, depth + 1)
        return any(self.flows(part, at, depth) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))

    def never_recorded(self, root: ast.AST, at: Run) -> _Found | None:
        """Rule 4: the forward that should have recorded something, and what kept it from doing so.

        A target that is made without gradients is as it should be; so of several such blocks on the way to the loss it is
        the one that runs what is trained."""
        behind = list(self.behind(root, at))
        off = [one for one in behind if switch_around(one) is not None and _computes(one)]
        blocks = {(one.place.file, switch_around(one)) for one in off if self.runs_trained(one)}
        # What leaves the block is what goes on without history.
        off = [one for one in off if (one.place.file, switch_around(one)) in blocks] or off
        if not off:  # it came by a way that cannot be followed
            others = [
                r for r in reversed(self.runs) if r is not at and switch_around(r) is not None and r not in behind
            ]
            off = [one for one in others if _computes(one)]
        for one in off:
            names = one.targets or [ast.unparse(e.target) for e in effects(one.node, "store") if e.target is not None]
            caller = one.call.caller
            if not names and isinstance(one.node, ast.Return) and caller is not None:
                names = caller.targets
            place = Place(one.place.file, switch_around(one) or one.place.line, one.place.function)
            return _Found("no_grad", names[0] if names else "", one, place)
        frozen = self.frozen()
        if frozen is not None:
            return frozen
        made = next((self.definition(n, at) for n in _reads(root) if self.definition(n, at) is not None), None)
        return _Found("unknown", next(iter(_reads(root)), ""), made) if made is not None else None

    def given(self, name: str, at: Run) -> tuple[ast.expr, Run] | None:
        """What the caller gave for a parameter of a function, and the statement that called it."""
        function, caller = at.source.function(at.place.line), at.call.caller
        if caller is None or isinstance(function, ast.Module):
            return None
        expr = _given(function, caller, name.partition(".")[0])
        return (expr, caller) if expr is not None else None

    def behind(self, root: ast.AST, at: Run) -> Iterator[Run]:
        """The statements that an expression's value was made by, the nearest first."""
        todo: list[tuple[ast.AST, Run]] = [(root, at)]
        seen: set[int] = set()
        while todo and len(seen) < _DEPTH:
            expr, where = todo.pop(0)
            for name in _reads(expr):
                made = self.definition(name, where)
                if made is None:
                    given = self.given(name, where)
                    todo += [given] if given is not None else []
                    continue
                if id(made) in seen:
                    continue
                seen.add(id(made))
                yield made
                value = (
                    _put_into(made.node, name) or getattr(made.node, "value", None) or getattr(made.node, "iter", None)
                )
                if value is not None:
                    todo.append((value, made))
                backs = [back for call in made.inner if (back := call.returned()) is not None]
                for back in backs:
                    if id(back) not in seen and isinstance(back.node, ast.Return) and back.node.value is not None:
                        seen.add(id(back))
                        yield back
                        todo.append((back.node.value, back))
                        backs += [b for call in back.inner if (b := call.returned()) is not None]

    def runs_trained(self, one: Run, depth: int = 0) -> bool:
        """Whether a statement, or a function that it calls, reads parameters that are trained."""
        chains = [n for n in ast.walk(one.node) if isinstance(n, (ast.Name, ast.Attribute)) and _is_chain(n)]
        inside = {
            id(n.value) for n in chains if isinstance(n, ast.Attribute)
        }  # `self` holds all, `self.target` does not
        if any(self.known_as(ast.unparse(n), one) in self.trained for n in chains if id(n) not in inside):
            return True
        return depth < 8 and any(self.runs_trained(r, depth + 1) for call in one.inner for r in call.body)

    def known_as(self, name: str, at: Run) -> str:
        """What a path of a function is called where the pass failed: arguments go by what the caller gave for them."""
        for _ in range(8):
            function, caller = at.source.function(at.place.line), at.call.caller
            if name in self.trained or caller is None or isinstance(function, ast.Module):
                return name
            base, dot, rest = name.partition(".")
            given = _given(function, caller, base) or _receiver(function, caller, base)
            if given is None or not _is_chain(given):
                return name
            name, at = ast.unparse(given) + dot + rest, caller
        return name

    def frozen(self) -> _Found | None:
        """Where the parameters were told not to require a gradient."""
        for one in reversed(self.runs):
            if isinstance(one.node, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
                continue
            assigns = isinstance(one.node, ast.Assign) and any(t.endswith(".requires_grad") for t in one.targets)
            if assigns or any(True for _ in effects(one.node, "freeze")):
                return _Found("frozen", "", one)
        return None


def _reads(expr: ast.AST) -> list[str]:
    """The names and attribute chains that an expression reads, outermost first."""
    found: list[str] = []
    todo: list[ast.AST] = [expr]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and _is_chain(node):
            found.append(ast.unparse(node))
            todo.append(node.value)
        elif isinstance(node, ast.Call):
            # The function itself is no operand; what a method is called on is.
            if isinstance(node.func, ast.Attribute):
                todo.append(node.func.value)
            todo += [*node.args, *(k.value for k in node.keywords)]
        else:
            todo += list(ast.iter_child_nodes(node))
    return list(dict.fromkeys(found))


def _put_into(stmt: ast.stmt, name: str) -> ast.expr | None:
    """What a statement puts into a container: `losses.append(loss)`."""
    for effect in effects(stmt, "store"):
        if effect.target is not None and ast.unparse(effect.target) == name:
            return effect.value
    return None


def _of_parameters(expr: ast.AST) -> bool:
    """Whether an expression goes over a module's parameters: they have no history, but are where it begins."""
    calls = (n for n in ast.walk(expr) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return any(c.func.attr in _PARAMETERS for c in calls if isinstance(c.func, ast.Attribute))


def _is_chain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _has_calls(expr: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) for n in ast.walk(expr))


def _computes(one: Run) -> bool:
    """Whether a statement itself, and not only what stands in its block, computes something."""
    return not hasattr(one.node, "body") and any(isinstance(n, (ast.Call, ast.BinOp)) for n in ast.walk(one.node))


def _function(one: Run) -> ast.AST:
    return one.source.function(one.place.line)


def _parameters(one: Run) -> list[str]:
    function = _function(one)
    given = getattr(function, "args", None)
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)] if given is not None else []


def _enclosing(one: Run) -> list[ast.AST]:
    """The functions (and the module) that a statement's function stands in: what it reads may be theirs."""
    path = [*one.source.path(one.place.line)]
    functions = [n for n in path if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [*functions[:-1], one.source.tree] if functions else []


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef, caller: Run, name: str) -> ast.expr | None:
    """The expression that a caller gave for a parameter; modules pass theirs through `__call__`."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if name not in parameters and name not in [a.arg for a in function.args.kwonlyargs]:
        return None
    for call in (n for n in ast.walk(caller.node) if isinstance(n, ast.Call)):
        called = ast.unparse(call.func).rpartition(".")[2]
        if called != function.name and function.name not in ("forward", "__call__"):
            continue
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        own = parameters[1:] if parameters[:1] in (["self"], ["cls"]) else parameters
        if name in own and own.index(name) < len(call.args):
            return call.args[own.index(name)]
    return None


def _receiver(function: ast.FunctionDef | ast.AsyncFunctionDef, caller: Run, name: str) -> ast.expr | None:
    """What a method was called on; a module is called itself."""
    first = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][:1]
    if [name] != first:
        return None
    for call in (n for n in ast.walk(caller.node) if isinstance(n, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == function.name:
            return call.func.value
    if function.name in ("forward", "__call__"):
        chains = (n.func for n in ast.walk(caller.node) if isinstance(n, ast.Call) and _is_chain(n.func))
        return next(chains, None)
    return None


def switch_around(one: Run) -> int | None:
    """The line that switches recording off around a statement."""
    for stmt in reversed(one.source.path(one.place.line)):
        if isinstance(stmt, (ast.With, ast.AsyncWith)):
            if any(records_nothing(i.context_expr) for i in stmt.items):
                return stmt.lineno
            # Whatever it was given: nothing was recorded.
            text = [ast.unparse(i.context_expr) for i in stmt.items]
            if any("set_grad_enabled" in t and "(True" not in t for t in text):
                return stmt.lineno
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return next((d.lineno for d in stmt.decorator_list if records_nothing(d)), None)
    return None
