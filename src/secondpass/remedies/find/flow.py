# SPDX-License-Identifier: BSD-3-Clause
"""Who reads and who writes a name: a small def-use analysis that all remedies share.

Names are dotted chains as the source writes them, subscripts as `[...]`: `h`, `self.h`, `state[...]`. The order of the
text stands for the order of execution, inside one function and one turn of a loop; that is what the remedies need, and
their result is proven by running it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from ..edit.source import Source, children, walk

__all__ = [
    "assigned_value",
    "base_of",
    "calls",
    "carried_in",
    "dotted",
    "expressions",
    "head",
    "history_slice",
    "inputs_of",
    "method_call",
    "names_read",
    "plain",
    "reads",
    "simple",
    "targets",
    "value_cut",
    "written",
]

_CUTS = {"item", "detach", "numpy", "tolist", "data", "shape", "size", "dim", "numel", "device", "dtype", "ndim"}
_NUMBERS = {"len", "int", "float", "range", "str", "print", "isinstance", "type", "id", "bool", "repr", "format"}


def plain(name: str) -> str:
    """A name as the source writes it, less spaces and what stands between brackets."""
    return re.sub(r"\[[^\]]*\]", "[...]", name.replace(" ", ""))


def base_of(name: str) -> str:
    """`state[...]` -> `state`; `self.buffer[...].h` -> `self.buffer`."""
    return plain(name).split("[")[0]


def dotted(node: cst.CSTNode) -> str | None:
    """The name of an expression, or None where it has none."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else None
    if isinstance(node, cst.Subscript):
        left = dotted(node.value)
        return f"{left}[...]" if left else None
    return None


def expressions(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Expressions evaluated at a node: no keywords, attribute names, parameters, annotations, nested `def`s."""
    todo = [node]
    first = node
    while todo:
        here = todo.pop()
        if here is not first and isinstance(here, cst.FunctionDef | cst.ClassDef):
            continue
        if isinstance(here, cst.Annotation | cst.Param | cst.NameItem | cst.Import | cst.ImportFrom):
            continue
        yield here
        below = children(here)
        if isinstance(here, cst.Attribute | cst.Arg):
            below = [here.value]
        elif isinstance(here, cst.FunctionDef):
            below = [here.body, *here.decorators]
        todo.extend(reversed(below))


def targets(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions that a statement (its own, not a nested block's) assigns to, tuples taken apart."""
    if isinstance(node, cst.SimpleStatementLine):
        for small in node.body:
            yield from targets(small)
        for found in walk(node):
            if isinstance(found, cst.NamedExpr):
                yield found.target
    elif isinstance(node, cst.Assign):
        for target in node.targets:
            yield from _flat(target.target)
    elif isinstance(node, cst.AnnAssign | cst.AugAssign | cst.For):
        if not (isinstance(node, cst.AnnAssign) and node.value is None):
            yield from _flat(node.target)
    elif isinstance(node, cst.With):
        for item in node.items:
            if item.asname:
                yield from _flat(item.asname.name)


def _flat(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.Tuple | cst.List):
        for element in node.elements:
            yield from _flat(element.value)
    elif isinstance(node, cst.StarredElement):
        yield from _flat(node.value)
    else:
        yield node


def written(statement: cst.CSTNode) -> set[str]:
    """Names that a statement itself assigns."""
    return {name for t in targets(statement) if (name := dotted(t))}


def simple(nodes: cst.CSTNode | Iterable[cst.CSTNode], nested: bool = False) -> Iterator[cst.BaseStatement]:
    """Statements in the order of the text: simple lines, and the heads of compound ones (`for`, `with`, `if`).

    Functions and classes are not entered, unless `nested` says so or one is given by itself.
    """
    if isinstance(nodes, cst.CSTNode):
        yield from _statements(nodes, nested, top=True)
        return
    for node in nodes:
        yield from _statements(node, nested, top=False)


def _statements(node: cst.CSTNode, nested: bool, top: bool) -> Iterator[cst.BaseStatement]:
    if isinstance(node, cst.BaseStatement):
        yield node
        if isinstance(node, cst.SimpleStatementLine):
            return
        if isinstance(node, cst.FunctionDef | cst.ClassDef) and not nested and not top:
            return
    for child in children(node):
        if isinstance(child, cst.BaseStatement | cst.IndentedBlock | cst.Else | cst.ExceptHandler | cst.Finally):
            yield from _statements(child, nested, top=False)


def head(statement: cst.CSTNode) -> list[cst.CSTNode]:
    """What a statement itself evaluates: all of a simple line, only the head of a compound one."""
    if isinstance(statement, cst.For):
        return [statement.iter]
    if isinstance(statement, cst.While | cst.If):
        return [statement.test]
    if isinstance(statement, cst.With):
        return [item.item for item in statement.items]
    if isinstance(statement, cst.FunctionDef | cst.ClassDef | cst.Try | cst.TryStar | cst.Match):
        return []
    return [statement]


def reads(nodes: cst.CSTNode | Iterable[cst.CSTNode], name: str) -> list[cst.BaseExpression]:
    """The expressions that read a name, below some nodes (nested functions' bodies left out)."""
    wanted = plain(name)
    found: list[cst.BaseExpression] = []
    for top in [nodes] if isinstance(nodes, cst.CSTNode) else list(nodes):
        assigned: set[int] = set()
        for node in expressions(top):
            if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.For | cst.CompFor | cst.AugAssign | cst.AsName):
                target = node.name if isinstance(node, cst.AsName) else node.target
                assigned |= {id(t) for t in _flat(target)}
            if dotted(node) == wanted and id(node) not in assigned:
                found.append(node)  # type: ignore[arg-type]
    return found


def assigned_value(statement: cst.CSTNode, name: str | None = None) -> cst.BaseExpression | None:
    """The right-hand side of a plain one-statement assignment `a = b = value` (or `a: T = value`).

    For one name of `a, b = x, y`, what that name gets.
    """
    if not (isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1):
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign | cst.AnnAssign):
        return None
    if name is not None and plain(name) not in written(statement):
        return None
    if name is not None and isinstance(small, cst.Assign) and isinstance(small.value, cst.Tuple):
        for target in small.targets:
            parts = target.target.elements if isinstance(target.target, cst.Tuple) else ()
            if len(parts) == len(small.value.elements):
                for part, value in zip(parts, small.value.elements, strict=True):
                    if dotted(part.value) == plain(name):
                        return value.value
    return small.value


def carried_in(body: list[cst.BaseStatement], name: str) -> bool:
    """Whether a turn of this body reads a name before it has surely written it."""
    wanted = plain(name)
    top = {id(s) for s in body}
    for statement in simple(body):
        if reads(head(statement), wanted):
            return True
        if any(isinstance(n, cst.AugAssign) and dotted(n.target) == wanted for n in walk(statement)):
            return True
        if wanted in written(statement) and id(statement) in top and not isinstance(statement, cst.For):
            return False
    return False


def calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that a node makes, nested functions' bodies left out."""
    return (n for n in expressions(node) if isinstance(n, cst.Call))


def method_call(node: cst.CSTNode, *names: str) -> cst.Call | None:
    """The first call of a method with one of these names (`x.backward(...)`) at a node."""
    for call in calls(node):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in names:
            return call
    return None


def names_read(node: cst.CSTNode) -> set[str]:
    """All names (every prefix of a chain) read at a node."""
    found = set()
    for inner in expressions(node):
        name = dotted(inner)
        if name:
            found.add(name)
    return found


def inputs_of(statement: cst.BaseStatement) -> set[str]:
    """What a statement reads, without the targets of an assignment."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return names_read(small.value if isinstance(small, cst.Assign) else statement)


def value_cut(value: cst.CSTNode) -> bool:
    """Whether an expression surely has no history: `.item()`, `len(...)`, a literal, a comparison."""
    if isinstance(value, cst.Call):
        if isinstance(value.func, cst.Attribute):
            return value.func.attr.value in _CUTS
        return dotted(value.func) in _NUMBERS
    if isinstance(value, cst.Attribute):
        return value.attr.value in _CUTS
    if isinstance(value, cst.Tuple | cst.List):
        return all(value_cut(e.value) for e in value.elements)
    return isinstance(value, cst.BaseNumber | cst.BaseString | cst.Comparison | cst.ConcatenatedString | cst.Lambda)


def history_slice(
    source: Source,
    before: cst.CSTNode,
    names: Iterable[str],
    tracked: set[str] | None,
    region: list[cst.BaseStatement],
) -> list[cst.BaseStatement]:
    """The assignments behind some names that carry history, in the order of the text.

    :param before: look only at what stands before this node
    :param tracked: names that are known to have history or to give it (parameters, modules); None: follow all names
    :param region: the statements to choose from
    """
    limit = source.order(before)
    candidates = [s for s in simple(region) if isinstance(s, cst.SimpleStatementLine) and source.order(s) < limit]
    wanted = {plain(n) for n in names}
    chosen: list[cst.BaseStatement] = []
    for statement in reversed(candidates):
        if not written(statement) & wanted:
            continue
        value = statement.body[0]
        right = getattr(value, "value", None)
        cut = right is not None and value_cut(right) and not isinstance(value, cst.AugAssign)
        # What stands in a block around the reader has run before it: an earlier value of the name is gone by then.
        settles = not isinstance(value, cst.AugAssign) and source.within(before, source.block(statement)) is not None
        if right is None or (cut and tracked is not None):
            wanted -= written(statement) if settles and right is not None else set()
            continue
        chosen.append(statement)
        read = names_read(right)
        if settles or (not isinstance(value, cst.AugAssign) and source.owner(statement) is source.owner(region[0])):
            wanted -= written(statement)
        wanted |= {n for n in read if tracked is None or n in tracked}
    return chosen[::-1]
