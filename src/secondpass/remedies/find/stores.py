# SPDX-License-Identifier: BSD-3-Clause
"""Where a tensor is put away: assignments, slots, `append`, and the arguments of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ..edit.patch import Patch, attached
from ..edit.source import Source, walk
from .callers import arguments, calls_of, parameters_of
from .flow import assigned_value, base_of, calls, dotted, names_read, plain, reads, simple, targets, written
from .project import Project, Scope, without_history

__all__ = ["same_holder", "wrapped_stores"]

_PUTS = {
    "append", "appendleft", "add", "push", "put", "extend", "insert", "store", "update", "log", "record", "remember",
    "save",
}  # fmt: skip
_CALLERS = 3
"""A value is followed through so many functions that only hand it on."""
_CONTAINERS = {"dict", "list", "set", "deque", "defaultdict", "OrderedDict", "Queue"}


def wrapped_stores(finding: Finding, name: str, project: Project, suffix: str) -> Iterator[tuple[Patch, str]]:
    """Patches that put `.detach()` (or `.item()`) on what is stored under a name, with what they wrap."""
    key = re.search(r"\[\s*(['\"])(.+?)\1\s*\]", name)
    sure: list[tuple[Source, cst.SimpleStatementLine, Scope]] = []
    # A script that calls a function has its own statements in no function.
    for scopes in (_scopes(finding, project), [(s, s.module) for s in project.sources]):
        for source, scope in () if sure else scopes:
            for statement in simple(source.body(scope)):
                if isinstance(statement, cst.SimpleStatementLine) and _stores(
                    statement, name, key.group(2) if key else None
                ):
                    sure.append((source, statement, scope))
    for only_tracked in (True, False):
        patch, what = Patch(), ""
        for source, statement, scope in sure:
            if without_history(source, statement):
                continue
            tracked = project.tracked(source, scope)
            for node in _values(statement, name):
                if finding.facts.get("within") and isinstance(node, cst.Name | cst.Attribute):
                    continue  # a tuple, or a record: the tensors are in it
                # Of several things that are stored together, only those that some caller gives a history.
                several = isinstance(node, cst.Tuple | cst.List | cst.Set | cst.Dict)
                known = tracked | _given(project, source, scope) if several else tracked
                what = _wrap(project, patch, source, node, known if only_tracked else None, suffix) or what
            if (
                not any(True for _ in _values(statement, name))
                and plain(name) in written(statement)
                and suffix == ".detach()"
            ):
                patch.insert_after(source, statement, [f"{name} = {name}{suffix}"])
                what = name
        if patch:
            yield patch, what or name
    yield from _handed_over(project, sure, name, suffix)
    if sure and suffix == ".detach()":
        yield from _in_records(project)
    if not sure and "." in name and suffix == ".detach()":
        yield from _in_replaced(project, name.rpartition(".")[2])
    if key and not sure:
        yield from _under_key(project, key.group(2), suffix)


def _given(project: Project, source: Source, scope: Scope) -> set[str]:
    """The parameters of a function to which some call gives something with history, and what is computed with them."""
    names = parameters_of(scope)
    found = set()
    for where, call in calls_of(project, scope) if isinstance(scope, cst.FunctionDef) and names else ():
        tracked = project.tracked(where, where.scope(call))
        found |= {name for name, value in arguments(call, names).items() if project.gives_history(value, tracked)}
    for statement in simple(source.body(scope)) if found else ():
        value = assigned_value(statement)
        if value is not None and project.gives_history(value, found):
            found |= written(statement)
    return found


def _handed_over(
    project: Project, stores: list[tuple[Source, cst.SimpleStatementLine, Scope]], name: str, suffix: str
) -> Iterator[tuple[Patch, str]]:
    """What is stored was given by a caller, and others give numbers: wrapped where the tensor is handed over."""
    each: dict[str, list[tuple[Source, cst.BaseExpression]]] = {}
    for depth in (0, _CALLERS):  # who gives it, before who gives it to somebody who hands it on
        for _, statement, scope in stores:
            for part in [part for node in _values(statement, name) for part in _parts(node)]:
                if isinstance(part, cst.Name) and part.value not in each:
                    if found := list(_handed(project, scope, part.value, depth)):
                        each[part.value] = found
    for found in each.values():
        patch = Patch()
        what = ""
        for where, value in found:
            tracked = project.tracked(where, where.scope(value))
            wrapped = _wrap(project, patch, where, value, tracked, suffix)
            what = what or wrapped
        if patch:
            yield patch, what


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What is stored together, taken apart."""
    if isinstance(node, cst.Tuple | cst.List | cst.Dict):
        for element in node.elements:
            yield from _parts(element.value)
    elif isinstance(node, cst.BinaryOperation):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        yield node


def _handed(project: Project, scope: Scope, name: str, depth: int) -> Iterator[tuple[Source, cst.BaseExpression]]:
    """What callers give, with a history, to a parameter of a function; or what theirs give, where they only hand it on."""
    parameters = parameters_of(scope)
    for where, call in calls_of(project, scope) if isinstance(scope, cst.FunctionDef) and name in parameters else ():
        value, around = arguments(call, parameters).get(name), where.scope(call)
        if value is not None and project.gives_history(value, project.tracked(where, around)):
            yield where, value
        elif isinstance(value, cst.Name) and depth and around is not scope:
            yield from _handed(project, around, value.value, depth - 1)


def _under_key(project: Project, key: str, suffix: str) -> Iterator[tuple[Patch, str]]:
    """What was taken out of a store has another name than the store: known by the key it was put in with."""
    patch, what = Patch(), ""
    for source in project.sources:
        for node in walk(source.module):
            for element in node.elements if isinstance(node, cst.Dict) else ():
                if not isinstance(element, cst.DictElement) or not isinstance(element.key, cst.SimpleString):
                    continue
                if element.key.evaluated_value == key:
                    tracked = project.tracked(source, source.scope(node))
                    what = _wrap(project, patch, source, element.value, tracked, suffix) or what
    if patch:
        yield patch, what


def _in_replaced(project: Project, field: str) -> Iterator[tuple[Patch, str]]:
    """A record that cannot be changed is replaced by another one: `replace(session, h=h)`."""
    patch, what = Patch(), ""
    for source in project.sources:
        for call in [n for n in walk(source.module) if isinstance(n, cst.Call)]:
            words = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
            if (dotted(call.func) or "").rpartition(".")[2] in {"replace", "_replace"} and field in words:
                for value in words.values():
                    if isinstance(value, cst.Name):
                        patch.append(source, value, ".detach()")
                        what = what or source.code(value)
    if patch:
        yield patch, what


def _in_records(project: Project) -> Iterator[tuple[Patch, str]]:
    """What is stored is a record that has been made elsewhere: made of tensors without their history."""
    patch, what = Patch(), ""
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if isinstance(statement, cst.SimpleStatementLine):
                tracked = project.tracked(source, source.scope(statement))
                for call in [c for c in calls(statement) if _is_record(project, c, strictly=True)]:
                    what = _wrap(project, patch, source, call, tracked, ".detach()") or what
    if patch:
        yield patch, what


def _scopes(finding: Finding, project: Project) -> list[tuple[Source, Scope]]:
    found = project.scopes(finding.built, finding.failed, finding.freed)
    return found + [(s, f) for s in project.sources for f in s.functions if not any(f is g for _, g in found)]


def _stores(statement: cst.SimpleStatementLine, name: str, key: str | None) -> bool:
    """Whether a statement puts something under the name: `x = ...`, `x[k] = ...`, `x.append(...)`."""
    base, full = base_of(name), plain(name)
    small = statement.body[0]
    if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
        for target in targets(statement):
            if _is(dotted(target), full) and (key is None or _key(target) in {None, key}):
                return True
            if "[" not in full and _is(dotted(target), full + "[...]"):
                return True
            # Not `x = x[-n:]`: that puts nothing new into it.
            if _is(dotted(target), base) and key is None and not reads(small.value, dotted(target) or ""):
                return True
    for call in calls(statement):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in _PUTS:
            holder = dotted(call.func.value)
            if holder and same_holder(holder.split("[")[0], base):
                return True
    return False


def _is(written_name: str | None, wanted: str) -> bool:
    """The same name, or the same attribute seen from inside its object."""
    if written_name is None or ("[" in written_name) != ("[" in wanted):
        return False
    return written_name == wanted or same_holder(base_of(written_name), base_of(wanted))


def same_holder(one: str, other: str) -> bool:
    """`bank.items` of the training loop is `self.items` in the methods of the bank."""
    if one == other:
        return True
    inner = [n for n in (one, other) if n.startswith("self.")]
    return bool(inner) and "." in one and "." in other and one.rpartition(".")[2] == other.rpartition(".")[2]


def _key(target: cst.BaseExpression) -> str | None:
    if isinstance(target, cst.Subscript) and isinstance(target.slice[0].slice, cst.Index):
        value = target.slice[0].slice.value
        if isinstance(value, cst.SimpleString):
            return str(value.evaluated_value)
    return None


def _values(statement: cst.SimpleStatementLine, name: str) -> Iterator[cst.BaseExpression]:
    """The expressions that are stored."""
    for small in statement.body:
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
            places = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
            if any(_is(dotted(p), w) for p in places for w in (plain(name), base_of(name), base_of(name) + "[...]")):
                yield small.value
            for place in places:
                if isinstance(place, cst.Tuple) and isinstance(small.value, cst.Tuple):
                    for p, v in zip(place.elements, small.value.elements, strict=False):
                        if dotted(p.value) == plain(name):
                            yield v.value
        elif isinstance(small, cst.Expr):
            for call in calls(small):
                if isinstance(call.func, cst.Attribute) and call.func.attr.value in _PUTS:
                    holder = dotted(call.func.value)
                    if holder and same_holder(holder.split("[")[0], base_of(name)):
                        yield from (a.value for a in call.args)


def _wrap(
    project: Project, patch: Patch, source: Source, node: cst.BaseExpression, tracked: set[str] | None, suffix: str
) -> str:
    """Puts the suffix on the tensors in an expression; gives back what it wrapped, or ""."""
    if tracked is not None and not project.gives_history(node, tracked):
        return ""
    if isinstance(node, cst.Tuple | cst.List | cst.Set):
        return "".join([_wrap(project, patch, source, e.value, tracked, suffix) for e in node.elements][-1:])
    if isinstance(node, cst.Dict):
        wrapped = [_wrap(project, patch, source, e.value, tracked, suffix) for e in node.elements]
        return next((w for w in wrapped if w), "")
    if isinstance(node, cst.BinaryOperation) and any(
        isinstance(s, cst.List | cst.Tuple) for s in (node.left, node.right)
    ):
        # `[None] * n`: a list to fill
        sides = [s for s in (node.left, node.right) if isinstance(s, cst.List | cst.Tuple)]
        return "".join([_wrap(project, patch, source, s, tracked, suffix) for s in sides][-1:])
    if isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp):
        return _wrap(project, patch, source, node.elt, None, suffix)
    if isinstance(node, cst.DictComp):
        return _wrap(project, patch, source, node.value, None, suffix)
    if isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] in _CONTAINERS:
        return ""  # an empty one to put things into
    if isinstance(node, cst.Call) and _is_record(project, node):
        wrapped = [_wrap(project, patch, source, a.value, tracked, suffix) for a in node.args]
        return next((w for w in wrapped if w), "")
    if isinstance(node, cst.BaseNumber | cst.BaseString | cst.Lambda) or (
        isinstance(node, cst.Name) and node.value in {"None", "True", "False"}
    ):
        return ""
    patch.replace(source, node, attached(source, node, suffix))
    return source.code(node)


def _is_record(project: Project, call: cst.Call, strictly: bool = False) -> bool:
    """A named tuple, a dataclass, or (not `strictly`) another class of the user's that is no module."""
    name = (dotted(call.func) or "").rsplit(".", 1)[-1]
    made = {
        w
        for s in project.sources
        for st in simple(s.body(s.module))
        for w in written(st)
        if "namedtuple" in str(names_read(st))
    }
    if name in made:
        return True
    known = [(s, c) for s in project.sources for c in s.classes if c.name.value == name]
    if strictly:
        return any(re.search("dataclass|NamedTuple", s.code(n)) for s, c in known for n in (*c.decorators, *c.bases))
    return bool(known) and not project.is_module(name)
