# SPDX-License-Identifier: BSD-3-Clause
"""Where history ended: following a loss without history back to the place that lost it.

NOTE [ Finding a cut ]
A statement that records no node although something that it reads has history is where history ended. The log tells, for
every executed statement, whether nodes were recorded; so no value has to be looked at. From the loss back:
1. The statement that assigned it recorded nodes of its own, or cuts in so many words (`.detach()`, `.item()`, `> 0.5`):
   it is the cut, if what it reads was recorded.
2. It called a function of the user's: go on at what that function returned.
3. Otherwise go on at what it reads: locals, arguments (at the call), attributes (wherever they were assigned).
4. Nothing on the way recorded anything: gradients were switched off around the forward (`no_grad`), or nothing in it
   requires them (frozen, never a parameter).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..record import Cut, Place
from .events import PassNote
from .files import Files
from .history import Call, Executed, backwards, defines, executed, place_of, source
from .lines import Log

__all__ = ["find_cuts"]

_METHODS = {
    "detach": "detach", "state_dict": "detach", "item": "item", "numpy": "numpy", "tolist": "item", "argmax": "argmax", "argmin": "argmax",
    "argsort": "argmax", "long": "cast", "int": "cast", "bool": "cast", "byte": "cast", "gt": "compare", "lt":
    "compare",
    "ge": "compare", "le": "compare", "eq": "compare", "ne": "compare", "multinomial": "sample", "sample": "sample",
}  # fmt: skip
_FUNCTIONS = {
    "tensor": "wrap", "as_tensor": "wrap", "from_numpy": "wrap", "FloatTensor": "wrap", "Tensor": "wrap", "array":
    "numpy",
    "asarray": "numpy", "float": "item", "argmax": "argmax", "topk": "argmax",
}  # fmt: skip
_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")
_PARAMETERS = ("parameters", "named_parameters", "state_dict")
_DEPTH = 200


@dataclass
class _Found:
    kind: str
    name: str
    at: Executed | None
    place: Place | None = None


def cut_kind(node: ast.AST) -> str | None:
    """The cut that an expression makes in so many words, if it does."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if isinstance(part.func, ast.Attribute) and part.func.attr in _METHODS:
                return _METHODS[part.func.attr]
            name = ast.unparse(part.func).rpartition(".")[2]
            if name in _FUNCTIONS:
                return _FUNCTIONS[name]
        elif isinstance(part, ast.Attribute) and part.attr == "data":
            return "data"
        elif isinstance(part, ast.Compare) and not isinstance(part.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return "compare"
    return None


def find_cuts(log: Log, files: Files, note: PassNote, since: int, number: int, frozen: bool = False) -> list[Cut]:
    """The place where the root of a pass lost its history. `frozen`: nothing that is trained requires a gradient."""
    ran = executed(log, since, note.position, number)
    last = _innermost_last(ran)
    if last is None:
        return []
    tree = source(last.statement.file)
    root = tree.root(last.statement.line) if tree is not None else None
    if root is None:
        # A helper around backward: the loss came in as an argument further out.
        return []
    found = _Search(ran, files).frozen() if frozen else None
    if found is None:
        found = _Search(ran, files).expression(root, last, 0)
    if found is None:
        found = _Search(ran, files).never_recorded(root, last)
    if found is None:
        return []
    place = found.place or (place_of(found.at, files) if found.at is not None else None)
    return [Cut(note.when, found.kind, found.name, place)]


def _innermost_last(call: Call) -> Executed | None:
    """The statement that was running at the end."""
    while call.body:
        last = call.body[-1]
        open_call = next((c for c in reversed(last.inner) if c is last.inner[-1] and _open(c)), None)
        if open_call is None:
            return last
        call = open_call
    return None


def _open(call: Call) -> bool:
    """Whether a call had not ended when the log was cut: its last statement is no return and nothing came after it."""
    return bool(call.body) and not isinstance(call.body[-1].node, ast.Return)


class _Search:
    def __init__(self, ran: Call, files: Files) -> None:
        self.ran, self.files = ran, files
        self.seen: set[tuple[int, str]] = set()

    def expression(self, expr: ast.AST, at: Executed, depth: int) -> _Found | None:
        """Rule 3 for everything that an expression reads."""
        if depth > _DEPTH:
            return None
        for name in _reads(expr):
            found = self.name(name, at, depth + 1)
            if found is not None:
                return found
        return None

    def name(self, name: str, at: Executed, depth: int) -> _Found | None:
        key = (id(at), name)
        if key in self.seen:
            return None
        self.seen.add(key)
        made = self.definition(name, at)
        if made is None:
            return self.argument(name, at, depth)
        return self.statement(made, name, depth)

    def definition(self, name: str, at: Executed) -> Executed | None:
        """The statement that gave a name its value."""
        body = at.call.body
        for one in reversed(body[: body.index(at)] if at in body else body):
            if defines(one, name) or _put_into(one.node, name) is not None:
                return one
        if "." in name:
            suffix = name[name.index(".") :]
            for one in backwards(self.ran):
                if one.position < at.position and any(t.endswith(suffix) for t in _targets(one)):
                    return one
        return None

    def argument(self, name: str, at: Executed, depth: int) -> _Found | None:
        """A parameter of a function: what the caller gave for it."""
        caller = at.call.caller
        tree = source(at.statement.file)
        if caller is None or tree is None:
            return None
        function = tree.function(at.statement.line)
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

    def statement(self, one: Executed, name: str, depth: int) -> _Found | None:
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
                found = self.returned(back, one, name, depth)
                if found is not None:
                    return found
        lost = self.recorded_operand(value, one)
        if lost is not None:
            return _Found(kind or "unknown", lost, one)
        return self.expression(value, one, depth + 1)

    def returned(self, back: Executed, one: Executed, name: str, depth: int) -> _Found | None:
        value = back.node.value if isinstance(back.node, ast.Return) else None
        if value is None:
            return None
        kind = cut_kind(value)
        if back.built_itself:
            return _Found(kind, name, back) if kind is not None else None
        for call in reversed(back.inner):
            inner = call.returned()
            if inner is not None:
                found = self.returned(inner, back, name, depth + 1)
                if found is not None:
                    return found
        lost = self.recorded_operand(value, back)
        if lost is not None:
            return _Found(kind or "unknown", name, back)
        return self.expression(value, back, depth + 1)

    def recorded_operand(self, value: ast.AST, at: Executed, depth: int = 0) -> str | None:
        """Something that an expression reads and whose own statement recorded nodes without cutting."""
        for name in _reads(value):
            if self.recorded(name, at, depth):
                return name
        return None

    def recorded(self, name: str, at: Executed, depth: int) -> bool:
        if depth > 40:
            return False
        made = self.definition(name, at)
        if made is not None:
            value = getattr(made.node, "value", None) or getattr(made.node, "iter", None)
            if made.built:
                return value is None or cut_kind(value) is None or bool(made.inner)
            plain = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple)) and cut_kind(value) is None
            return plain and value is not None and self.recorded_operand(value, made, depth + 1) is not None
        caller = at.call.caller
        tree = source(at.statement.file)
        if caller is None or tree is None:
            return False
        function = tree.function(at.statement.line)
        if isinstance(function, ast.Module):
            return False
        given = _given(function, caller, name.partition(".")[0])
        if given is None:
            return False
        if _has_calls(given):
            before = caller.inner.index(at.call) if at.call in caller.inner else 0
            earlier = caller.inner[before - 1].ended if before else caller.began
            return at.call.began > earlier or any(c.ended > c.began for c in caller.inner[:before])
        return self.recorded_operand(given, caller, depth + 1) is not None

    def never_recorded(self, root: ast.AST, at: Executed) -> _Found | None:
        """Rule 4: the forward that should have recorded something, and what kept it from doing so."""
        for one in backwards(self.ran):
            if one is at:
                continue
            around = _switch_around(one)
            if around is not None and _calls_something(one):
                names = _targets(one)
                return _Found(
                    "no_grad",
                    names[0] if names else "",
                    one,
                    Place(self.files.show(one.statement.file), around, one.statement.function),
                )
        frozen = self.frozen()
        if frozen is not None:
            return frozen
        made = next((self.definition(n, at) for n in _reads(root) if self.definition(n, at) is not None), None)
        return _Found("unknown", next(iter(_reads(root)), ""), made) if made is not None else None

    def frozen(self) -> _Found | None:
        """Where the parameters were told not to require a gradient."""
        for one in backwards(self.ran):
            text = ast.unparse(one.node)
            if (
                "requires_grad" in text
                and "False" in text
                and not isinstance(one.node, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef))
            ):
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
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        if call.func.attr in ("append", "extend", "add") and ast.unparse(call.func.value) == name:
            return call.args[0]
    return None


def _of_parameters(expr: ast.AST) -> bool:
    """Whether an expression goes over a module's parameters: they have no history, but are where it begins."""
    calls = (n for n in ast.walk(expr) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return any(c.func.attr in _PARAMETERS for c in calls if isinstance(c.func, ast.Attribute))


def _is_chain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _targets(one: Executed) -> list[str]:
    from ..causes._source import assigned

    return [ast.unparse(t) for t in assigned(one.node)]


def _has_calls(expr: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) for n in ast.walk(expr))


def _calls_something(one: Executed) -> bool:
    return any(_has_calls(part) for part in ast.iter_child_nodes(one.node)) and not isinstance(
        one.node, (ast.FunctionDef, ast.ClassDef)
    )


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef, caller: Executed, name: str) -> ast.expr | None:
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


def _switch_around(one: Executed) -> int | None:
    """The line that switches gradients off around a statement."""
    tree = source(one.statement.file)
    if tree is None:
        return None
    for stmt in reversed(tree.path(one.statement.line)):
        if isinstance(stmt, (ast.With, ast.AsyncWith)):
            if any(word in ast.unparse(i.context_expr) for i in stmt.items for word in _SWITCHES[:2]):
                return stmt.lineno
            # Whatever it was given: nothing was recorded.
            if any(_SWITCHES[2] in (text := ast.unparse(i.context_expr)) and "(True" not in text for i in stmt.items):
                return stmt.lineno
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in stmt.decorator_list:
                if any(word in ast.unparse(decorator) for word in _SWITCHES[:2]):
                    return decorator.lineno
            return None
    return None
