# SPDX-License-Identifier: BSD-3-Clause
"""What a value was made of, in the statements that ran: names go to what was assigned, arguments to what the caller gave,
calls to what the function returned, parts of tuples and dictionaries to the part."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import merge
from itertools import chain, islice

from ...source import Effect, assigned, effects
from .executed import Call, Run

__all__ = ["EACH", "Part", "Picks", "Values", "element", "is_chain", "operands"]

Picks = tuple[object, ...]
"""Which part of a value: indices and keys, outermost first."""
Part = tuple[ast.expr, Run, Picks]
"""An expression of a statement that ran, and which part of its value is meant."""

EACH = "*"
"""Some element of a container."""
_STORES = 12
"""How many statements that put something into a container are asked."""
_NOT_VALUES = frozenset("shape ndim dtype device size dim numel grad_fn requires_grad is_leaf layout".split())
"""What says something about a tensor and is not made of its values."""
_VIEWS = frozenset(("T", "mT", "H", "mH", "real", "imag"))
_LIKE = ("_like", "new_zeros", "new_ones", "new_full", "new_empty", "len")
_OF_CONTAINERS = frozenset(("list", "tuple", "reversed", "sorted", "iter", "next", "set", "tqdm"))
_NUMBERS = frozenset("float int bool str len sum min max abs print range list tuple dict set zip map round".split())
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class Values:
    """Questions about the values of some statements."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self._calls: dict[tuple[int, int], list[Call]] = {}
        self._effects: dict[int, tuple[list[str], list[tuple[str, Effect]]]] = {}
        self._known: dict[tuple[int, int, Picks], tuple[ast.expr, list[Part] | None]] = {}
        """Answers, each with its expression: one that is gone could leave its `id` to another."""

    def part(self, expr: ast.expr, picks: Picks) -> tuple[ast.expr, Picks]:
        """The same value, said more closely: the second of a tuple that stands there is the second."""
        while True:
            if isinstance(expr, ast.Subscript) and (key := _constant(expr.slice)) is not None:
                expr, picks = expr.value, (key, *picks)
                continue
            first = picks[0] if picks else None
            inner = None
            if isinstance(expr, (ast.Tuple, ast.List)) and isinstance(first, int):
                plain = not any(isinstance(e, ast.Starred) for e in expr.elts)
                inner = expr.elts[first] if plain and -len(expr.elts) <= first < len(expr.elts) else None
            elif isinstance(expr, ast.Dict) and first is not None:
                pairs = zip(expr.keys, expr.values, strict=True)
                inner = next((v for k, v in pairs if k is not None and _constant(k) == first), None)
            elif isinstance(expr, ast.Call) and isinstance(first, str):
                inner = next((k.value for k in expr.keywords if k.arg == first), None)
            if inner is None:
                return expr, picks
            expr, picks = inner, picks[1:]

    # -- calls -------------------------------------------------------------------------------------------------------------

    def called(self, expr: ast.expr, at: Run) -> list[Call]:
        """The runs of functions of the user's that an expression is the value of: a call, or a property."""
        if not at.inner or not isinstance(expr, (ast.Call, ast.Attribute)):
            return []
        key = (id(expr), id(at))
        if key not in self._calls:
            self._calls[key] = _called(expr, at)
        return self._calls[key]

    def given(self, name: str, at: Run) -> ast.expr | None:
        """What the caller gave for a parameter; modules pass theirs through `__call__`."""
        function, caller = _function(at), at.call.caller
        if caller is None or not isinstance(function, _Function):
            return None
        own = _parameters(function)
        if name not in own:
            return None
        order = own[1:] if own[:1] in (["self"], ["cls"]) else own
        for call in self._calls_of(at, caller):
            for keyword in call.keywords:
                if keyword.arg == name:
                    return keyword.value
            k = order.index(name) if name in order else len(call.args)
            if k < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: k + 1]):
                return call.args[k]
        return None

    def receiver(self, name: str, at: Run) -> ast.expr | None:
        """What a method was called on; a module is called itself."""
        return next(self.receivers(name, at), None)

    def receivers(self, name: str, at: Run) -> Iterator[ast.expr]:
        """All that it may have been: of `outer(inner(x))` the source does not say which of the two is whose `forward`."""
        function, caller = _function(at), at.call.caller
        if caller is None or not isinstance(function, _Function) or [name] != _parameters(function)[:1]:
            return
        for call in self._calls_of(at, caller):
            if isinstance(call.func, ast.Attribute) and call.func.attr == function.name:
                yield call.func.value
            elif function.name in ("forward", "__call__"):
                yield call.func

    def _calls_of(self, at: Run, caller: Run) -> list[ast.Call]:
        """The call, in a caller's statement, that a function was run by; the innermost first where that is not certain."""
        found = [n for n in ast.walk(caller.node) if isinstance(n, ast.Call) and at.call in self.called(n, caller)]
        return sorted(found, key=_end)

    # -- names -------------------------------------------------------------------------------------------------------------

    def made(self, expr: ast.expr, at: Run, picks: Picks) -> list[Part] | None:
        """What gave a name (or an attribute, or a variable of a loop) its value; None where nothing that ran did."""
        key = (id(expr), id(at), picks)
        if key not in self._known:
            self._known[key] = expr, self._made(expr, at, picks)
        return self._known[key][1]

    def _made(self, expr: ast.expr, at: Run, picks: Picks) -> list[Part] | None:
        if isinstance(expr, ast.Call) and picks[:1] == (EACH,):
            return self._yielded(expr, picks[1:])
        if isinstance(expr, ast.Name) and (source := _comprehended(expr, at)) is not None:
            return element(source[0], at, (*source[1], *picks))
        if isinstance(expr, ast.Attribute) and expr.attr in _VIEWS:
            return [(expr.value, at, ())]
        if not is_chain(expr):
            return None
        name = ast.unparse(expr)
        found = self._assigned(name, at, picks)
        if found is None and isinstance(expr, ast.Name):
            given = self.given(name, at)
            if given is not None and at.call.caller is not None:
                return [*self._handed_on(at), (given, at.call.caller, picks)]
            return self._outside(name, at, picks)
        if found is None and isinstance(expr, ast.Attribute):
            return self._attribute(expr, at, picks)
        return found

    def _handed_on(self, at: Run) -> list[Part]:
        """What the function before returned, where one call runs several (a sequence of modules): it may go into the next."""
        caller = at.call.caller
        assert caller is not None
        for call in self._calls_of(at, caller):
            together = self.called(call, caller)
            before = together[: together.index(at.call)]
            back = before[-1].returned() if before else None
            if back is not None and isinstance(back.node, ast.Return) and back.node.value is not None:
                return [(back.node.value, back, ())]
        return []

    def is_inner(self, name: ast.Name, at: Run) -> bool:
        """Whether a name is a variable of a comprehension."""
        return _comprehended(name, at) is not None

    def same(self, name: str, at: Run, later: Run) -> bool:
        """Whether a name has the same value at two statements of one function's run."""
        body = later.call.body
        between = body[body.index(at) : body.index(later)] if at in body and later in body else []
        return not any(name in self._of(one)[0] for one in between)

    def _of(self, one: Run) -> tuple[list[str], list[tuple[str, Effect]]]:
        """What a statement assigns, and what it puts into containers."""
        key = id(one.node)
        if key not in self._effects:
            stores = [(ast.unparse(e.target), e) for e in effects(one.node, "store") if e.target is not None]
            self._effects[key] = [ast.unparse(t) for t in assigned(one.node)], stores
        return self._effects[key]

    def _assigned(self, name: str, at: Run, picks: Picks) -> list[Part] | None:
        """What the function itself assigned to a name before a statement, and put into it since."""
        body, function = at.call.body, _function(at)
        here = (r for r in reversed(body[: body.index(at)] if at in body else body) if _function(r) is function)
        return self._definition(name, here, picks)

    def _outside(self, name: str, at: Run, picks: Picks) -> list[Part] | None:
        """A name of the functions around, or of the module."""
        path = at.source.path(at.place.line)
        functions = [n for n in path if isinstance(n, _Function) and n is not at.node]
        if not functions or name in _parameters(functions[-1]):
            return None
        inside = [self._by_function.get(f, []) for f in (*functions[:-1], at.source.module)]
        ends = [bisect_left(own, self._index.get(id(at), 0)) for own in inside]
        before = merge(
            *(islice(reversed(own), len(own) - end, None) for own, end in zip(inside, ends, strict=True)), reverse=True
        )
        return self._definition(name, (self.runs[k] for k in before), picks)

    def _attribute(self, expr: ast.Attribute, at: Run, picks: Picks) -> list[Part] | None:
        """What was last given an attribute of that name, whatever the object is called there."""
        setting = self._setting.get(expr.attr, [])
        end = bisect_left(setting, self._index.get(id(at), 0))
        earlier = (self.runs[setting[k]] for k in range(end - 1, -1, -1))
        one = next(earlier, None)
        if one is None:
            return None
        written = next((t for t in self._written(one) if t.endswith(f".{expr.attr}")), None)
        if written is not None:
            return self._definition(written, chain((one,), earlier), picks)
        return [(_fields(one)[expr.attr], one, picks)]

    @cached_property
    def _setting(self) -> dict[str, list[int]]:
        """Where among the runs are the statements that give attributes their values, or put something into them, by attribute."""
        nodes: dict[int, list[int]] = {}  # one statement has many runs
        for k, one in enumerate(self.runs):
            nodes.setdefault(id(one.node), []).append(k)
        found: dict[str, list[int]] = {}
        for where in nodes.values():
            one = self.runs[where[0]]
            for name in {t.rpartition(".")[2] for t in self._written(one) if "." in t} | _fields(one).keys():
                found.setdefault(name, []).extend(where)
        return {name: sorted(where) for name, where in found.items()}

    def _written(self, one: Run) -> list[str]:
        """What a statement assigns, or puts something into."""
        targets, stores = self._of(one)
        return [*targets, *(t for t, _ in stores)]

    def _yielded(self, call: ast.Call, picks: Picks) -> list[Part] | None:
        """What a generator of the user's yielded last: its statements run when it is asked for more."""
        name = _last_name(call.func)
        for one in reversed(self.runs):
            if getattr(_function(one), "name", "") == name:
                for node in ast.walk(one.node) if not hasattr(one.node, "body") else ():
                    if isinstance(node, ast.Yield) and node.value is not None:
                        return [(node.value, one, picks)]
        return None

    @cached_property
    def _by_function(self) -> dict[ast.AST, list[int]]:
        """Where the statements of each function are among the runs."""
        found: dict[ast.AST, list[int]] = {}
        for k, one in enumerate(self.runs):
            found.setdefault(_function(one), []).append(k)
        return found

    @cached_property
    def _index(self) -> dict[int, int]:
        return {id(one): k for k, one in enumerate(self.runs)}

    def _definition(self, name: str, earlier: Iterable[Run], picks: Picks) -> list[Part] | None:
        """What was assigned to a name last, and what was put into it since."""
        puts: dict[int, Part] = {}
        rest = iter(earlier)
        for one in rest:
            targets, stores = self._of(one)
            if name in targets:
                return [*puts.values(), *self._value(one, name, rest, picks)]
            for target, effect in stores:
                if target == name and effect.value is not None and id(one.node) not in puts and len(puts) < _STORES:
                    several = effect.how in ("extend", "update", "+=")
                    puts[id(one.node)] = effect.value, one, picks if several else picks[1:]
        return list(puts.values()) or None

    def _value(self, one: Run, name: str, earlier: Iterable[Run], picks: Picks) -> list[Part]:
        """What a statement assigns to a name."""
        node = one.node
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return element(node.iter, _entry(one), (*(_way(node.target, name) or ()), *picks))
        if isinstance(node, ast.AugAssign):
            return [(node.value, one, ()), *(self._definition(name, earlier, picks) or ())]
        value = getattr(node, "value", None)
        if not isinstance(value, ast.expr):
            return []
        targets = node.targets if isinstance(node, ast.Assign) else []
        way = next((w for t in targets if (w := _way(t, name)) is not None), ())
        return [(value, one, (*way, *picks))]


def _entry(turn: Run) -> Run:
    """The run of a loop's head that began the loop: what it goes over was computed then, and not at every turn."""
    body, loop = turn.call.body, turn.node
    at = body.index(turn)
    while at > 0 and loop.lineno <= body[at - 1].place.line <= (loop.end_lineno or loop.lineno):
        at -= 1
    return body[at] if body[at].node is loop else turn


def operands(expr: ast.expr) -> list[ast.expr]:
    """The expressions whose values go into that of an expression."""
    if isinstance(expr, ast.Call):
        name = _last_name(expr.func)
        if name.endswith(_LIKE) or name in _NOT_VALUES:
            return []
        found = [*expr.args, *(k.value for k in expr.keywords)]
        # The function itself is no operand; what a method is called on is.
        return [expr.func.value, *found] if isinstance(expr.func, ast.Attribute) else found
    if isinstance(expr, ast.Attribute):
        return [] if expr.attr in _NOT_VALUES else [expr.value]
    if isinstance(expr, ast.Subscript):
        return [expr.value] if isinstance(expr.slice, ast.Constant) else [expr.value, expr.slice]
    if isinstance(expr, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [expr.elt]
    if isinstance(expr, ast.DictComp):
        return [expr.value]
    if isinstance(expr, ast.IfExp):
        return [expr.body, expr.orelse]
    if isinstance(expr, (ast.Lambda, ast.JoinedStr)):
        return []
    return [n for n in ast.iter_child_nodes(expr) if isinstance(n, ast.expr)]


def is_chain(node: ast.AST) -> bool:
    """Whether it is a name, or attributes of one."""
    if isinstance(node, ast.Attribute) and node.attr in _NOT_VALUES:
        return False
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _constant(node: ast.expr) -> object:
    """An index or a key that stands there as such."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if type(value) is int else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) in (int, str) else None


def _way(target: ast.expr, name: str) -> Picks | None:
    """Where in a target a name stands."""
    if isinstance(target, (ast.Tuple, ast.List)):
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        for k, element in enumerate(target.elts):
            way = _way(element.value if isinstance(element, ast.Starred) else element, name)
            if way is not None:
                return (EACH if starred else k, *way)
        return None
    return () if ast.unparse(target) == name else None


def element(iterated: ast.expr, at: Run, picks: Picks) -> list[Part]:
    """An element of what is iterated over, or a part of it."""
    if isinstance(iterated, ast.Call):
        name, first = _last_name(iterated.func), picks[0] if picks else None
        if name == "zip" and isinstance(first, int) and first < len(iterated.args):
            return element(iterated.args[first], at, picks[1:])
        if name == "enumerate" and picks and iterated.args:
            return [] if first == 0 else element(iterated.args[0], at, picks[1:])
        if name in ("items", "values") and isinstance(iterated.func, ast.Attribute) and not iterated.args:
            if name == "items" and first == 0:
                return []
            return [(iterated.func.value, at, (EACH, *(picks[1:] if name == "items" else picks)))]
        if name in _OF_CONTAINERS and iterated.args:
            return element(iterated.args[0], at, picks)
    if isinstance(iterated, (ast.Tuple, ast.List)):
        return [(e, at, picks) for e in iterated.elts]
    if isinstance(iterated, (ast.ListComp, ast.GeneratorExp)):
        return [(iterated.elt, at, picks)]
    return [(iterated, at, (EACH, *picks))]


def _comprehended(name: ast.Name, at: Run) -> tuple[ast.expr, Picks] | None:
    """What a variable of a comprehension goes over, and where in each element it stands."""
    for node in ast.walk(at.node) if not hasattr(at.node, "body") else ():
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            for generator in node.generators:
                way = _way(generator.target, name.id)
                inside = way is not None and any(n is name for n in ast.walk(node))
                if way is not None and inside and not any(n is name for n in ast.walk(generator.iter)):
                    return generator.iter, way
    return None


def _fields(one: Run) -> dict[str, ast.expr]:
    """What the fields of records were made of in a statement: `Losses(policy=x)`, `Losses(x)`."""
    found: dict[str, ast.expr] = {}
    for call in (n for n in ast.walk(one.node) if isinstance(n, ast.Call)) if not hasattr(one.node, "body") else ():
        name = _last_name(call.func)
        declared = (s for s in one.source.module.body if isinstance(s, ast.ClassDef) and s.name == name)
        lines = (s.target for c in declared for s in c.body if isinstance(s, ast.AnnAssign))
        fields = [target.id for target in lines if isinstance(target, ast.Name)]
        for k in call.keywords:
            if k.arg is not None and (k.arg in fields or name[:1].isupper()):
                found.setdefault(k.arg, k.value)
        for field, value in zip(fields, call.args, strict=False):
            found.setdefault(field, value)
    return found


def _called(expr: ast.Call | ast.Attribute, at: Run) -> list[Call]:
    names = {id(c): getattr(_function(c.body[0]), "name", "") for c in at.inner if c.body}
    inner = [c for c in at.inner if c.body]
    if isinstance(expr, ast.Attribute):
        return [c for c in inner if names[id(c)] == expr.attr and _is_property(c)]
    calls = sorted((n for n in ast.walk(at.node) if isinstance(n, ast.Call)), key=_end)
    wanted = _last_name(expr.func)
    mine = [c for c in inner if names[id(c)] == wanted]
    if mine:
        alike = [n for n in calls if _last_name(n.func) == wanted]
        return [mine[alike.index(expr)]] if len(alike) == len(mine) and expr in alike else mine
    # A module's `forward`, or the function inside a wrapper: what no other call of the statement goes by the name of.
    said = {_last_name(n.func) for n in calls}
    rest = [c for c in inner if names[id(c)] not in said | {"__init__"} and not _is_property(c)]
    free = [n for n in calls if _last_name(n.func) not in names.values() and not at.source.is_imported(n.func)]
    free = [n for n in free if _last_name(n.func) not in _NUMBERS]
    sure = [n for n in free if not isinstance(n.func, ast.Attribute) or ast.unparse(n.func).startswith("self.")]
    free = sure or free or [n for n in calls if isinstance(n.func, ast.Name)]
    if expr not in free:
        return []
    return [rest[free.index(expr)]] if len(free) == len(rest) else rest


def _is_property(call: Call) -> bool:
    function = _function(call.body[0])
    decorators = function.decorator_list if isinstance(function, _Function) else []
    return any(_last_name(d) in ("property", "cached_property") for d in decorators)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _end(node: ast.expr) -> tuple[int, int]:
    """Calls end in the order in which they are made."""
    return node.end_lineno or 0, node.end_col_offset or 0


def _function(one: Run) -> ast.AST:
    return one.source.function(one.place.line)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
