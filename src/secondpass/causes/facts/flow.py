# SPDX-License-Identifier: BSD-3-Clause
"""Whether what a pass returned ends up in the loss of a later pass, as far as the source tells."""

from __future__ import annotations

import ast

from ...record import Pass, Trace
from ...source import Source, assigned, effects, given, names_in, root_of, texts_read
from .lines import source_of

__all__ = ["flows_into", "flows_on", "is_term_of", "name_of"]

_RETURNED = "<returned>"


def is_term_of(trace: Trace, first: Pass, later: Pass) -> bool:
    """Whether a gradient, after arithmetic of its own, is simply added to the loss of a later pass.

    A gradient that goes through a network again (an adversarial step, an inner step of first-order meta-learning) is
    data there, on purpose; one that is added to the loss as it is can only be meant to be differentiated.
    """
    return _follow(trace, first, later, pure=True)


def flows_into(trace: Trace, first: Pass, later: Pass) -> bool:
    """Follows names from the `grad` call through assignments and returns to the root of the later pass."""
    return _follow(trace, first, later, pure=False)


def flows_on(trace: Trace, first: Pass) -> bool:
    """Follows names from the `grad` call to the root of a pass that stands further out and may not have been made yet."""
    return _follow(trace, first, None, pure=False)


def name_of(trace: Trace, first: Pass) -> str:
    """What a gradient is called: where it is taken, or by those to whom functions return it."""
    marks = set[str]()
    for depth, place in enumerate(first.stack):
        source = source_of(trace, place)
        stmt = source.statement(place.line) if source is not None else None
        if source is None or stmt is None:
            break
        if isinstance(stmt, ast.Return) and stmt.value is not None:
            marks = _returned(stmt.value, _calls_of(source, stmt, first.stack[depth - 1].function if depth else "grad"))
            continue
        names = [ast.unparse(t) for t in assigned(stmt)]
        received = _received(stmt, marks)
        if names:
            return next((n for n in names if n in received), names[0])
        stored = next((e.target for e in effects(stmt, "store") if e.target is not None), None)
        return ast.unparse(stored) if stored is not None else ""
    return ""


def _follow(trace: Trace, first: Pass, later: Pass | None, pure: bool) -> bool:
    tainted: set[str] = set()
    summed = False
    shared = {(p.file, p.function) for p in later.stack} if later is not None else set()
    losses = _losses(trace, later) if later is not None and pure else set()
    for depth, place in enumerate(first.stack):
        source = source_of(trace, place)
        if source is None:
            return False
        stmt = source.statement(place.line)
        if stmt is None:
            return False
        if depth:
            # Out of a function comes what it returns, and what it puts into an object's attributes.
            tainted = {t for t in tainted if t.startswith(_RETURNED) or "." in t}
            if not tainted:
                return False
        if depth == 0 or any(t.startswith(_RETURNED) for t in tainted):
            inner = _calls_of(source, stmt, first.stack[depth - 1].function if depth else "grad") if pure else set()
            if depth and inner and _leaves_arithmetic(source, root_of(stmt) or stmt, inner, losses):
                return False
            if isinstance(stmt, ast.Return):
                tainted = _returned(stmt.value, inner) if stmt.value is not None and inner else {_RETURNED}
                continue
            tainted = _spread(source, place.line, _received(stmt, tainted) or set(inner), pure, losses) | inner
            summed = summed or _is_summed(source, place.line, tainted)
        if later is None and _sends(source, place.line, tainted):
            return True
        if later is not None and (place.file, place.function) in shared:
            if _reaches(trace, later, (place.file, place.function), tainted, pure, summed, losses):
                return True
    return False


def _losses(trace: Trace, later: Pass) -> set[str]:
    """The names of single numbers with a history that a pass walks."""
    walked = later.walked or frozenset()
    return {b.name for b in trace.bindings if b.when == later.when and b.single and b.number in walked}


def _calls_of(source: Source, stmt: ast.stmt, function: str) -> set[str]:
    """The calls of a function, as they are written in a statement. Objects are called without a name of the function, by what
    was made of their class; and so are functions that are looked up."""
    calls = [n for n in ast.walk(stmt) if isinstance(n, ast.Call)]
    owner, _, name = function.rpartition(".")
    named = {ast.unparse(c) for c in calls if ast.unparse(c.func).rpartition(".")[2] == name}
    if named:
        return named
    if name in ("__call__", "forward"):
        return {ast.unparse(c) for c in calls if _is_made_of(source, c.func, owner.rpartition(".")[2])}
    # What is looked up: `getattr(self, name)()`, `terms[i](x)`.
    return {ast.unparse(c) for c in calls if isinstance(c.func, (ast.Call, ast.Subscript))}


def _is_made_of(source: Source, function: ast.expr, kind: str) -> bool:
    """Whether a name is given an object of a class."""
    text = ast.unparse(function)
    made = (
        v.func for s in source.writes(text) for t, v in given(s) if ast.unparse(t) == text and isinstance(v, ast.Call)
    )
    return any(ast.unparse(m).rpartition(".")[2] == kind for m in made)


def _spread(source: Source, line: int, tainted: set[str], pure: bool, losses: set[str]) -> set[str]:
    """What the rest of a function makes of some names; a mark when it returns one of them."""
    function = source.function(line)
    for _ in range(4):
        before = len(tainted)
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                if _mentions(node.value, tainted) and not (
                    pure and _leaves_arithmetic(source, node.value, tainted, losses)
                ):
                    tainted |= {ast.unparse(t) for t in assigned(node)}
            elif isinstance(node, ast.For) and _mentions(node.iter, tainted):
                tainted |= {ast.unparse(t) for t in assigned(node)}
            elif (
                isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and _mentions(node.value, tainted)
            ):
                for mark, value in _parts(node.value):  # of several, each by itself: one may be there to be printed
                    if (
                        _mentions(value, tainted)
                        and not _is_cut(value)
                        and not (pure and _leaves_arithmetic(source, value, tainted, losses))
                    ):
                        tainted.add(mark)
            elif isinstance(node, ast.comprehension) and _mentions(node.iter, tainted):
                tainted |= names_in(node.target)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                if any(_mentions(a, tainted) for a in node.args):
                    tainted.add(ast.unparse(node.func.value))
        if len(tainted) == before:
            break
    return tainted


def _is_cut(value: ast.expr) -> bool:
    """Whether it is the bare value of something: no graph of what it was made of would reach those that get it."""
    cut = value.func if isinstance(value, ast.Call) else None
    return isinstance(cut, ast.Attribute) and cut.attr in ("detach", "item", "numpy", "tolist")


def _returned(value: ast.expr, tainted: set[str]) -> set[str]:
    """That a value is returned, and as which of several."""
    return {mark for mark, one in _parts(value) if mark == _RETURNED or _mentions(one, tainted)}


def _parts(value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The values that a function returns together, each with a mark that says which it is."""
    if not isinstance(value, ast.Tuple) or any(isinstance(e, ast.Starred) for e in value.elts):
        return [(_RETURNED, value)]
    return [(f"{_RETURNED}{i}", e) for i, e in enumerate(value.elts)]


def _received(stmt: ast.stmt, tainted: set[str]) -> set[str]:
    """What a statement assigns of what the call in it returned."""
    own = [ast.unparse(t) for t in assigned(stmt)]
    marks = {m.removeprefix(_RETURNED) for m in tainted if m.startswith(_RETURNED)}
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
    if not marks or "" in marks or not isinstance(target, ast.Tuple) or len(own) != len(target.elts):
        return set(own)
    return {name for i, name in enumerate(own) if str(i) in marks}


def _mentions(expr: ast.AST, tainted: set[str]) -> bool:
    """Whether something tainted is read; what a statement assigns anew it does not read."""
    return bool(tainted) and not tainted.isdisjoint(texts_read(expr))


def _leaves_arithmetic(source: Source, expr: ast.AST, tainted: set[str], losses: set[str]) -> bool:
    """Whether something tainted is given to a function that is not plain arithmetic, is only looked at, or only weighs a loss
    (by how large its gradient is)."""
    if losses and not _is_bare(expr, tainted, losses):
        return True
    for call in (n for n in ast.walk(expr) if isinstance(n, ast.Call)):
        name = ast.unparse(call.func)
        if isinstance(call.func, ast.Attribute) and _mentions(call.func.value, tainted):
            if call.func.attr in _CUTS:
                return True
            continue
        given = any(_mentions(a, tainted) for a in (*call.args, *(k.value for k in call.keywords)))
        if given and not (_is_torch(source, call.func) or _is_criterion(source, call.func) or name in _PLAIN):
            return True
    return False


def _is_bare(expr: ast.AST, tainted: set[str], losses: set[str]) -> bool:
    """Whether something tainted is read that is no factor of a loss."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Mult, ast.Div)):
        factors = [expr.left, expr.right]
        for one in factors:  # grows meanwhile
            if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Mult, ast.Div)):
                factors += [one.left, one.right]
        if any(ast.unparse(one) in losses for one in factors):
            return False
    elif isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return _mentions(expr, tainted)
    return any(_is_bare(child, tainted, losses) for child in ast.iter_child_nodes(expr))


def _is_torch(source: Source, function: ast.expr) -> bool:
    """Whether a function is one of PyTorch's (or of `math`) that computes something of its arguments, and runs no network."""
    home = source.home(function)
    return home.partition(".")[0] in ("torch", "math") and home.rpartition(".")[2] not in _RUNS


def _is_criterion(source: Source, function: ast.expr) -> bool:
    """Whether a name was given a loss of PyTorch's: `nn.MSELoss()`."""
    made = [s.value for s in source.writes(ast.unparse(function)) if isinstance(s, ast.Assign)]
    calls = [v.func for v in made if isinstance(v, ast.Call)]
    return any(source.home(c).startswith("torch.nn") and ast.unparse(c).endswith("Loss") for c in calls)


_PLAIN = {"sum", "abs", "max", "min", "tuple", "list", "zip"}
_RUNS = {"functional_call", "checkpoint", "checkpoint_sequential", "vmap", "grad", "jvp", "vjp"}
_CUTS = {"item", "detach", "numpy", "tolist", "cpu", "sign", "data", "backward", "append"}


def _added(expr: ast.AST, tainted: set[str]) -> bool:
    """Whether a tainted name is a term of a sum that has other terms."""
    for node in ast.walk(expr):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = _mentions(node.left, tainted), _mentions(node.right, tainted)
            other = node.right if left else node.left
            if left != right and any(isinstance(n, (ast.Name, ast.Call, ast.Attribute)) for n in ast.walk(other)):
                return True
    return False


def _is_summed(source: Source, line: int, tainted: set[str]) -> bool:
    """Whether a function adds one of some names to something else, and returns what comes of it."""
    inside = list(ast.walk(source.function(line)))
    returned = [n.value for n in inside if isinstance(n, ast.Return) and n.value is not None]
    for value in (part for one in returned for _, part in _parts(one)):
        names = names_in(value) & tainted
        if _added(value, tainted) or any(
            ast.unparse(target) in names and _added(node.value, tainted - names)
            for node in inside
            if isinstance(node, (ast.Assign, ast.AugAssign))
            for target in assigned(node)
        ):
            return True
    return False


def _sends(source: Source, line: int, tainted: set[str]) -> bool:
    """Whether a statement of a function, behind a line, makes a pass that starts from something tainted."""
    behind = (n for n in ast.walk(source.function(line)) if isinstance(n, ast.stmt) and n.lineno > line)
    return any((root := root_of(n)) is not None and _mentions(root, tainted) for n in behind if not hasattr(n, "body"))


def _reaches(
    trace: Trace, later: Pass, here: tuple[str, str], tainted: set[str], pure: bool, summed: bool, losses: set[str]
) -> bool:
    """Whether the statement of a function that leads to a later pass (and, where sums are asked for, those further in) takes
    one of its names."""
    for place in later.stack:
        if not pure and (place.file, place.function) != here:
            continue
        there = source_of(trace, place)
        if there is None:
            continue
        stmt = there.statement(place.line)
        root = root_of(stmt) if stmt is not None else None
        if root is not None and _mentions(root, tainted):
            return not pure or summed or _is_sum(there, root, place.line, tainted, losses)
        if not pure and stmt is not None and _mentions(stmt, tainted):
            return True
    return False


def _is_sum(source: Source, root: ast.expr, line: int, tainted: set[str], losses: set[str]) -> bool:
    """Whether the root, or what was assigned to it, adds the tainted term to others."""
    if losses and not _is_bare(root, tainted, losses):
        return False
    if _added(root, tainted):
        return True
    name = ast.unparse(root)
    for node in ast.walk(source.function(line)):
        if isinstance(node, ast.Assign) and name in map(ast.unparse, assigned(node)):
            others = tainted - {name}
            if _added(node.value, others) and not _leaves_arithmetic(source, node.value, others, losses):
                return True
        if (
            isinstance(node, ast.AugAssign)
            and ast.unparse(node.target) == name
            and isinstance(node.op, (ast.Add, ast.Sub))
        ):
            if _mentions(node.value, tainted - {name}):
                return True
    return False
