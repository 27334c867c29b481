# SPDX-License-Identifier: BSD-3-Clause
"""What a run saw to carry history from one iteration to the next, and where it can be cut.

NOTE [ A cut by what was seen ]
1. The finding has every path that led to history that the next graph was built on, with the types along it. Nothing else
   is touched, and nothing is guessed from the source: a name has the type that it had.
2. A path is cut at the last attribute on it, or at its name. What lies behind that (items of tuples, lists, dicts) is
   taken apart; a list of objects is walked.
3. The cut stands behind the pass and the steps that belong to it, in the innermost frame of the stack that has the name,
   not outside the loop that went on. A generator that has the name waits in its `yield` while the pass is made: behind that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ...record import Finding, Path, Place, Way
from ..edit.source import Source, walk
from .crossing import anchor_of, declared, may_be_none
from .flow import assigned_value, carried_in, dotted, plain, simple, value_cut, written
from .project import Project, Scope

__all__ = ["Cut", "Held", "cuts", "held_paths", "keeps", "put_by", "puts"]

_RECORDS = ("NamedTuple",)
_PUTS = ("append", "appendleft", "insert", "put", "add")
_PUTS_SEVERAL = ("extend", "extendleft", "update")
_PUTS_INTO = ("heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right")
"""Functions of the standard library that put something into the list that they are given first."""


@dataclass(frozen=True)
class Held:
    """A path that led to history, and the function whose frame has its name."""

    path: Path
    function: str

    @property
    def depth(self) -> int:
        """How many of its steps lead to what can be assigned: rule 2."""
        for depth in range(len(self.path.ways), 0, -1):
            if self.path.ways[depth - 1].kind == "attribute" and self.path.type_at(depth - 1) not in _RECORDS:
                return depth
        return 0

    @property
    def target(self) -> Path:
        return Path(self.path.root, self.path.scope, self.path.ways[: self.depth], self.path.type)

    @property
    def inner(self) -> tuple[Way, ...]:
        """The steps behind what can be assigned."""
        return self.path.ways[self.depth :]

    @property
    def type(self) -> str:
        """The type of what can be assigned."""
        return self.path.type_at(self.depth)


@dataclass(frozen=True)
class Cut:
    """Where to cut, and what: every target with the paths behind it."""

    source: Source
    scope: Scope
    anchor: cst.BaseStatement
    targets: dict[str, list[Held]]
    unset: frozenset[str] = frozenset()
    """Those of them that an iteration may leave at None."""


def held_paths(finding: Finding) -> list[Held]:
    """The paths of a finding, as its facts hold them."""
    found = []
    for one in finding.facts.get("paths") or ():
        ways = tuple(Way(*w) for w in one["ways"])
        found.append(Held(Path(one["root"], one["scope"], ways, one["type"]), one["function"]))
    return found


def cuts(finding: Finding, project: Project) -> Iterator[Cut]:
    """The places for a cut, the innermost frame first."""
    held = [h for h in held_paths(finding) if all(w.kind in ("attribute", "item") for w in h.target.ways)]
    if any(not kind for h in held for kind in h.path.types):
        return  # nobody has seen it
    yield from _behind_yields(finding, held, project)
    for stack in ("freed_stack", "used_stack"):
        for place in _frames(finding, finding.facts.get(stack) or (), project):
            here = project.at(place)
            if here is None or project.lasts(*here):
                continue
            source, site = here
            scope = source.scope(site)
            loop = _loop(finding, source, scope)
            region = source.body(loop) if loop is not None else source.body(scope)
            targets: dict[str, list[Held]] = {}
            for one in held:
                if loop is None and one.depth == 0 and one.path.scope == "local":
                    continue  # it ends with the call of the function that has it
                if _sees(source, scope, place, one) and not _made_anew(source, region, loop, one, held):
                    targets.setdefault(str(one.target), []).append(one)
            if not targets:
                continue
            names = {str(h.target) for parts in targets.values() for h in parts}
            anchor = anchor_of(finding, project, source, scope, site, loop, names)
            if anchor is not None:
                block = source.block(anchor)
                given = {w for s in block if isinstance(s, cst.SimpleStatementLine) for w in written(s)}
                late = {n for n in names - given if "." not in n and may_be_none(project, n)}
                yield Cut(source, scope, anchor, targets, frozenset(late))


def _behind_yields(finding: Finding, held: list[Held], project: Project) -> Iterator[Cut]:
    """A generator hands out what it has computed and goes on with its state; the pass lies in between."""
    passing = {(one["file"], one.get("function")) for one in finding.facts.get("used_stack") or ()}
    for one in finding.facts.get("built_stack") or ():
        if (one["file"], one.get("function")) in passing:
            continue
        here = project.at(Place(one["file"], one["line"], one.get("function", "")))
        scope = here[0].scope(here[1]) if here else None
        if here is None or not isinstance(scope, cst.FunctionDef):
            continue
        source = here[0]
        targets: dict[str, list[Held]] = {}
        for path in [h for h in held if h.path.scope == "local" and _binds(source, scope, h.path.root)]:
            targets.setdefault(str(path.target), []).append(path)
        for statement in simple(source.body(scope)) if targets else ():
            waits = isinstance(statement, cst.SimpleStatementLine) and any(
                isinstance(n, cst.Yield) for n in walk(statement)
            )
            if waits and any(carried_in(source.body(loop), t) for loop in source.loops(statement) for t in targets):
                yield Cut(source, scope, statement, targets)


def _binds(source: Source, scope: Scope, name: str) -> bool:
    """Whether a function gives a name a value, be it as a parameter."""
    own = [n for n in walk(scope.params) if isinstance(n, cst.Param)] if isinstance(scope, cst.FunctionDef) else []
    return any(p.name.value == name for p in own) or any(name in written(s) for s in simple(source.body(scope)))


def puts(finding: Finding, project: Project) -> Iterator[tuple[Source, cst.BaseExpression, bool]]:
    """What the source puts into the containers that were seen, and whether each of it is one tensor."""
    seen: set[int] = set()
    for one in held_paths(finding):
        holder = one.path.holder
        if holder is None or (finding.facts.get("sampled") and str(holder) != finding.facts["sampled"]):
            continue
        # Of containers in containers, things are put into the innermost.
        steps = enumerate(one.path.ways)
        inner = [k for k, way in steps if way.kind == "item" and one.path.type_at(k) not in ("tuple", *_RECORDS)]
        if inner:
            holder = Path(one.path.root, one.path.scope, one.path.ways[: inner[-1]], one.path.type)
        single = len(one.path.ways) == len(holder.ways) + 1
        for source in project.sources:
            for node in walk(source.module):
                value, whole = _put(source, node, holder) or (None, True)
                if value is not None and id(value) not in seen and not value_cut(value) and dotted(value) != "None":
                    seen.add(id(value))
                    yield source, value, single and whole


def holder_name(place: cst.CSTNode) -> str | None:
    """A container's name: `self.pages[...]` of `self.pages.setdefault(name, [])` as well."""
    if isinstance(place, cst.Call) and isinstance(place.func, cst.Attribute) and place.func.attr.value == "setdefault":
        name = dotted(place.func.value)
        return f"{name}[...]" if name else None
    return dotted(place)


def put_by(call: cst.Call) -> cst.BaseExpression | None:
    """What a call puts into a container, if it is one that does."""
    found = _put_call(call)
    return found[1] if found else None


def _put_call(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression, bool] | None:
    """The container, what goes into it, and whether as one thing."""
    word = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func) or ""
    if isinstance(call.func, cst.Attribute) and call.args and word in (*_PUTS, *_PUTS_SEVERAL):
        return call.func.value, call.args[-1].value, word not in _PUTS_SEVERAL
    if word in _PUTS_INTO and len(call.args) > 1:
        return call.args[0].value, call.args[1].value, True
    return None


def _put(source: Source, node: cst.CSTNode, holder: Path) -> tuple[cst.BaseExpression, bool] | None:
    """What a call or an assignment puts into a container, and whether as one thing; None where it does not."""
    place: cst.CSTNode | None = None
    whole = True
    if isinstance(node, cst.Call):
        found = _put_call(node)
        if found:
            place, value, whole = found
    elif isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Subscript):
        place, value = node.targets[0].target.value, node.value
    name = holder_name(place) if place is not None else None
    if name is None:
        return None
    if name == plain(str(holder)):
        return value, whole
    depth = max((i for i, w in enumerate(holder.ways) if w.kind == "attribute"), default=-1)
    inside = source.class_of(node)
    if depth < 0 or inside is None or inside.name.value != holder.type_at(depth):
        return None
    own = f"self.{holder.ways[depth].key}" + "[...]" * (len(holder.ways) - depth - 1)
    return (value, whole) if name == own else None


def keeps(finding: Finding, project: Project) -> Iterator[tuple[Source, cst.BaseExpression, bool]]:
    """Where methods of the objects that were seen on the way keep what carries history, and whether it is one tensor."""
    seen: set[int] = set()
    for one in held_paths(finding):
        if not one.depth or one.path.ways[one.depth - 1].kind != "attribute":
            continue
        name, owner = f"self.{one.path.ways[one.depth - 1].key}", one.path.type_at(one.depth - 1)
        for source in project.sources:
            for function in source.functions:
                inside = source.class_of(function)
                if inside is None or inside.name.value != owner:
                    continue
                for statement in simple(source.body(function)):
                    value = assigned_value(statement, name)
                    tracked = project.tracked(source, function)
                    if value is not None and id(value) not in seen and project.gives_history(value, tracked):
                        seen.add(id(value))
                        yield source, value, not one.inner and one.type == "Tensor"


def _frames(finding: Finding, stack: object, project: Project) -> Iterator[Place]:
    """The frames from the pass outwards, as far as the loop that went on (rule 3)."""
    around = finding.facts.get("loop")
    for one in stack if isinstance(stack, list | tuple) else ():
        place = Place(one["file"], one["line"], one.get("function", ""))
        yield place
        source = project.source(place.file)
        if isinstance(around, dict) and source is not None and around["file"] == place.file:
            loop, here = source.at(around["line"]), source.at(place.line)
            if loop is not None and here is not None and source.scope(loop) is source.scope(here):
                return


def _loop(finding: Finding, source: Source, scope: Scope) -> cst.For | cst.While | None:
    around = finding.facts.get("loop")
    if not isinstance(around, dict) or around["file"] != source.file:
        return None
    loop = source.at(around["line"])
    return loop if isinstance(loop, cst.For | cst.While) and source.scope(loop) is scope else None


def _sees(source: Source, scope: Scope, place: Place, one: Held) -> bool:
    """Whether the name means in this frame what was seen, and can be given another value there."""
    root, bare = one.path.root, one.depth == 0
    if one.path.scope == "global":
        known = any(root in written(s) for s in simple(source.body(source.module)))
        return known and (isinstance(scope, cst.Module) or not bare or declared(source, scope, root))
    if one.function != place.function or (one.path.scope == "local" and not _binds(source, scope, root)):
        return False
    return one.path.scope == "local" or not bare or declared(source, scope, root)


def _made_anew(
    source: Source, region: list[cst.BaseStatement], loop: cst.CSTNode | None, one: Held, held: list[Held]
) -> bool:
    """Whether a plain name is given a new value before it is read again: it hands nothing on, if another path does."""
    if one.depth or loop is None or carried_in(region, one.path.root):
        return False
    if not any(one.path.root in written(s) for s in simple(region)):
        return False  # read through another name, perhaps
    return any(h.path.root != one.path.root for h in held)
