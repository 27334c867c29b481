# SPDX-License-Identifier: BSD-3-Clause
"""detach: cut the history where it should have ended; the values go on.

Where that is depends on the cause: where state crosses the iteration (carried-state), where a tensor is stored
(stored-history), where one network's output enters the other network's loss (crossed-networks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from ..record import Finding, Place, Remedy
from .edit.patch import Patch
from .edit.source import Source, walk
from .find.crossing import Crossing, crossings, item_crossings
from .find.flow import (
    assigned_value,
    calls,
    dotted,
    history_slice,
    inputs_of,
    names_read,
    plain,
    reads,
    simple,
    value_cut,
    written,
)
from .find.held import cuts, keeps, put_by, puts
from .find.items import items_with, mixed, stores_of
from .find.project import Project, Scope
from .find.stores import wrapped_stores
from .item import added_to_sum
from .proposal import Way
from .rewrite.cuts import cut_of, import_module
from .rewrite.forms import detached, guess

__all__ = ["propose", "seen"]

_CROSSES = "the value goes on; the gradient of earlier iterations is cut, since their pass has consumed their history"
_ENTERS = "it becomes a constant for that loss, which must not train what made it"
_STORED = "what is stored becomes a constant: later passes use its value and train nothing through it"

_NO_HISTORY = frozenset("detach data item tolist shape size dim ndim numel dtype device requires_grad is_leaf".split())
"""What a tensor is asked for and gives without its history."""


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Every place for the cut, best first."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if not name:
        return
    crossing, stored, used = (
        _crossing(finding, name, project),
        _stored(finding, name, project),
        _used(finding, name, project),
    )
    behind = seen(finding, project)
    order: tuple[Iterator[Way], ...]
    if finding.cause == "crossed-networks":
        order = (used, stored)
    elif finding.facts.get("sampled"):
        order = (_put_away(finding, project), stored, used)
    elif finding.facts.get("stays") and finding.cause == "carried-state":
        # What a name keeps from one iteration on is the same for all of them; so it is for the first.
        order = (stored, behind, used, crossing)
    elif finding.cause == "stored-history":
        order = (stored, _put_away(finding, project), used, *(() if _is_data(finding) else (behind, crossing)))
    elif finding.cause == "graph-leak":
        # What is collected is a container: it has no history itself.
        running = finding.carrier is not None and finding.carrier.kind == "running"
        order = (stored, used) if running else (stored, _there(finding, remedy, project))
    elif finding.cause == "out-of-memory":
        order = (stored, behind)
    elif finding.cause == "hoisted-forward":
        order = (stored, used, seen(finding, project, before=True), behind, crossing)
    else:
        order = (
            behind,
            crossing,
            used,
            stored,
            _put_away(finding, project, keeps, _CROSSES),
            _in_place(finding, project),
        )
    for ways in order:
        yield from ways


def _is_data(finding: Finding) -> bool:
    """Whether nothing is trained through what is stored alone. Then it is a constant from the beginning: behind the step, where
    its first use is over, a cut would come too late."""
    facts = (finding.facts.get("why") or {}).get("facts") or {}
    return facts.get("reached only through it") == 0


def seen(finding: Finding, project: Project, *, before: bool = False) -> Iterator[Way]:
    """What a run saw to be carried, cut behind the step; or before the loop that all of it was made outside of."""
    around = finding.facts.get("loop") or {}
    for cut in cuts(finding, project):
        loops = [lp for lp in cut.source.loops(cut.anchor) if cut.source.line_of(lp) == around.get("line")]
        if before and (not loops or cut.source.file != around.get("file")):
            continue
        nested = any(h.inner for held in cut.targets.values() for h in held)
        for form in ("plain", "nested") if nested else ("plain",):
            way = Way(title=f"Detach {_listed(tuple(cut.targets))} where it crosses the iteration", why=_CROSSES)
            way.safe = True
            lines = []
            for target, held in cut.targets.items():
                own = cut_of(target, held, form)
                lines += [f"if {target} is not None:", *(f"    {x}" for x in own)] if target in cut.unset else own
            if any("secondpass." in line for line in lines):
                import_module(way.patch, cut.source, "secondpass")
            if before:
                way.title, way.why = f"Detach {_listed(tuple(cut.targets))} before the loop", _ENTERS
                way.patch.insert_before(cut.source, loops[0], lines)
            else:
                way.patch.insert_after(cut.source, cut.anchor, lines)
            yield way


def _in_place(finding: Finding, project: Project) -> Iterator[Way]:
    """A tensor that an iterator or a closure holds on to, where no name of the program's reaches: cut itself, behind the step."""
    for cut in cuts(finding, project):
        names = [name for name, held in cut.targets.items() if not held[0].inner and held[0].type == "Tensor"]
        if len(names) == len(cut.targets) and not cut.unset:
            way = Way(title=f"Detach {_listed(tuple(names))} itself, for whoever holds it", why=_CROSSES)
            way.patch.insert_after(cut.source, cut.anchor, [f"{name}.detach_()" for name in names])
            yield way


def _put_away(
    finding: Finding, project: Project, stores: Callable[..., Iterator[Any]] = puts, why: str = _STORED
) -> Iterator[Way]:
    """What was seen to be put into a container (or an attribute), detached where it is put there."""
    way = Way(title="", why=why)
    what = ""
    for source, value, single in stores(finding, project):
        what = what or source.code(value)
        if single:
            way.patch.append(source, value, ".detach()")
        else:
            import_module(way.patch, source, "secondpass")
            way.patch.replace(source, value, f"secondpass.detach({source.code(value)})")
    if way.patch:
        way.title = f"Store `{what}` without its history"
        yield way


def _there(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """What the statement that was seen to keep it puts away, be it a number at other times."""
    here = project.at(remedy.place or finding.failed)
    way = Way(title="", why=_STORED)
    for call in calls(here[1]) if here and isinstance(here[1], cst.SimpleStatementLine) else ():
        value = put_by(call)
        if here and value is not None and not value_cut(value):
            import_module(way.patch, here[0], "secondpass")
            way.patch.replace(here[0], value, f"secondpass.detach({here[0].code(value)})")
            way.title = way.title or f"Store `{here[0].code(value)}` without its history"
    if way.patch:
        yield way


def _crossing(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    if mixed(project, name):
        yield from _items(finding, name, project)
    forms = [] if _frozen(project, name) else guess(project, name)
    for form in forms[: 1 if any(True for _ in cuts(finding, project)) else 4]:
        seen: set[int] = set()
        for cut in crossings(finding, name, project):
            if id(cut.anchor) in seen or len(seen) >= 3:
                continue
            seen.add(id(cut.anchor))
            yield _cut(cut, form, project)
    if not mixed(project, name):
        yield from _items(finding, name, project)


def _items(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """In place, in a container that holds other things too or cannot be replaced here."""
    if items_with(project, name):
        forms = ("tuple", "tensor") if name.count("[") > 1 else ("tensor", "tuple")
    else:
        forms = ("each place", "each key") if guess(project, name)[0] == "list" else ("each key", "each place")
    for form in forms:
        seen: set[int] = set()
        for cut in item_crossings(finding, name, project):
            if id(cut.anchor) not in seen and len(seen) < 2:
                seen.add(id(cut.anchor))
                yield _cut(cut, form, project, alike=True)


def _frozen(project: Project, name: str) -> bool:
    """Whether a name is a field of a record that cannot be changed."""
    field = name.rpartition(".")[2] if "." in name else ""
    for source in project.sources:
        for owner in source.classes:
            fixed = any("frozen=True" in source.code(d).replace(" ", "") for d in owner.decorators)
            if fixed and any(isinstance(n, cst.AnnAssign) and dotted(n.target) == field for n in walk(owner)):
                return True
    return False


def _cut(cut: Crossing, form: str, project: Project, alike: bool = False) -> Way:
    way = Way(title=f"Detach {_listed(cut.names)} where it crosses the iteration", safe=True, why=_CROSSES)
    lines = []
    for i, name in enumerate(cut.names):
        own = detached(name, form if alike or i == 0 else guess(project, name)[0])
        lines += [f"if {name} is not None:", *(f"    {line}" for line in own)] if cut.guard else own
    insert = way.patch.insert_after if cut.after else way.patch.insert_before
    insert(cut.source, cut.anchor, lines)
    return way


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def _stored(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    here = project.at(finding.failed) if finding.cause == "graph-leak" else None
    for patch, what in added_to_sum(*here, name, ".detach()") if here else ():
        yield Way(patch, f"Add to `{what}` without history", safe=True, why=_STORED)
    several = finding.cause == "carried-state" and name.count("[") > 1
    for source, statement, item in stores_of(project, name) if several else ():
        patch = Patch()
        patch.insert_after(source, statement, detached(item, "tuple"))
        yield Way(patch, f"Store `{item}` without its history", safe=False, why=_STORED)
    for patch, what in wrapped_stores(finding, name, project, ".detach()"):
        yield Way(patch, f"Store `{what}` without its history", safe=False, why=_STORED)


def _used(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """Detach at the reads that belong to one of the two passes only."""
    passes = _parted(finding)
    places = list(passes)
    if finding.cause != "crossed-networks":
        places = places[1:]
    else:
        if finding.facts.get("foreign_seen"):  # which pass's optimizer owns what lies behind it was seen
            trains: str | None = "failed" if finding.facts.get("foreign") == "freed" else "freed"
        else:
            trains = _trains(project, finding, name)
        if trains == "freed":
            places.reverse()
        for other in _companions(project, name):
            # Of one network, both are data in the loss of the other. Of two networks that learn from each other, each
            # output is data in the loss of the other.
            one = trains is not None and (
                _of_one_value(project, name, other) or _trains(project, finding, other) == trains
            )
            patch = Patch()
            own = _own_reads(passes, finding.cause, project, places[0], name)
            others = _own_reads(passes, finding.cause, project, places[0 if one else 1], other)
            for source, node in [*own, *others] if own and others else ():
                patch.append(source, node, ".detach()")
            if patch:
                where = "they enter the other loss" if one else "each enters the loss of the other network"
                yield Way(patch, f"Detach `{name}` and `{other}` where {where}", safe=True, why=_ENTERS)
    for place in places:
        reads_ = _own_reads(passes, finding.cause, project, place, name)
        # Of one pass that is made again and again, some reads may be its own network's.
        yield from _without_history(reads_, name, safe=places[0] != places[-1] or len(places) < 2)
    if finding.cause == "crossed-networks":
        # Which function computes which loss may not be told from the source: one after the other, and the proof decides.
        for source, function in [(s, f) for s in project.sources for f in s.functions]:
            found = [r for s in simple(source.body(function)) for r in reads(s, name) if _same_key(source, r, name)]
            yield from _without_history([(source, r) for r in found if not _is_cut(source, r)], name, safe=False)


def _without_history(found: list[tuple[Source, cst.BaseExpression]], name: str, *, safe: bool) -> Iterator[Way]:
    """Reads of a tensor, or of a container of some, as values."""
    title = f"Detach `{name}` where it enters the other loss"
    for nested in (False, True) if "[" in name else (False,):
        way = Way(title=title, safe=safe, why=_ENTERS)
        for source, node in found:
            if nested:
                import_module(way.patch, source, "secondpass")
                way.patch.replace(source, node, f"secondpass.detach({source.code(node)})")
            else:
                way.patch.append(source, node, ".detach()")
        if way.patch:
            yield way


def _same_key(source: Source, node: cst.BaseExpression, name: str) -> bool:
    """Whether a read of `x["a"]` means the item that was seen, as far as the source says which it is."""
    key = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    word = key.value if isinstance(key, cst.Index) else None
    return not isinstance(word, cst.SimpleString) or f'["{word.evaluated_value!s}"]' in name.replace("'", '"')


def _parted(finding: Finding) -> tuple[Place | None, Place | None]:
    """Where the two passes are made: where one function makes both, the calls of it that stand apart."""
    stacks = (finding.facts.get(f"{which}_stack") or () for which in ("freed", "used"))
    for then, now in zip(*stacks, strict=False):
        if then["file"] != now["file"] or then["line"] != now["line"]:
            return Place(then["file"], then["line"], then["function"]), Place(now["file"], now["line"], now["function"])
    return finding.freed, finding.failed or finding.used


def _own_reads(
    passes: tuple[Place | None, Place | None], cause: str, project: Project, place: Place | None, name: str
) -> list[tuple[Source, cst.BaseExpression]]:
    """Reads of a name on the way to one pass, and not to the other."""
    found = [_reads_towards(project, p, name) for p in passes]
    shared = {id(r) for _, r in found[0]} & {id(r) for _, r in found[1]}
    if passes[0] == passes[1] and cause == "crossed-networks":
        shared = set()  # one pass, again and again: all of its reads are meant
    own = [(s, r) for s, r in _reads_towards(project, place, name) if id(r) not in shared]
    return [(s, r) for s, r in own if not _is_cut(s, r)]


def _is_cut(source: Source, node: cst.CSTNode) -> bool:
    """`x` of `x.detach()`, `x.shape`, `len(x)`: what comes of it has no history."""
    outer = source.parent.get(node)
    if isinstance(outer, cst.Arg):
        call = source.parent.get(outer)
        return isinstance(call, cst.Call) and dotted(call.func) in {"len", "isinstance", "type", "torch.is_tensor"}
    return isinstance(outer, cst.Attribute) and outer.attr.value in _NO_HISTORY


def _companions(project: Project, name: str) -> list[str]:
    """Names that are assigned in one statement with this one, and have history as it has."""
    found: list[str] = []
    for source in project.sources:
        scopes: list[Scope] = [source.module, *source.functions]
        for scope in scopes:
            tracked = project.tracked(source, scope)
            for statement in simple(source.body(scope)):
                if plain(name) in written(statement):
                    found += sorted((written(statement) - {plain(name)}) & tracked)
    return list(dict.fromkeys(found))


def _of_one_value(project: Project, name: str, other: str) -> bool:
    """Whether two names are parts of what one expression gives: one network has made both."""
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if {plain(name), plain(other)} <= written(statement) and isinstance(statement, cst.SimpleStatementLine):
                small = statement.body[0]
                return isinstance(small, cst.Assign) and not isinstance(small.value, cst.Tuple | cst.List)
    return False


def _reads_towards(project: Project, place: Place | None, name: str) -> list[tuple[Source, cst.BaseExpression]]:
    """Reads of a name in the statements that a pass's root is computed from."""
    if place is None:
        return []
    for source, scope in project.scopes(place):
        for site in project.sites(source, scope, place)[-1:]:
            region = source.body(scope)
            chain = [*history_slice(source, site, names_read(site), None, region), site]
            chain = [s for s in chain if plain(name) not in written(s)]
            found = [(source, r) for s in chain for r in reads(s, name)]
            if found:
                return found
    return []


def _trains(project: Project, finding: Finding, name: str) -> str | None:
    """Which of the two passes trains the network that made the carrier: "freed", "failed" or None."""
    made: set[str] = set()
    for source in project.sources:
        scopes: list[Scope] = [source.module, *source.functions]
        for scope in scopes:
            body = source.body(scope)
            for statement in [s for s in simple(body) if plain(name) in written(s)]:
                value = assigned_value(statement, plain(name))
                read = names_read(statement if value is None else value)
                made |= read
                for behind in history_slice(source, statement, read, None, body):
                    made |= inputs_of(behind)
    for label, place in (("freed", finding.freed), ("failed", finding.failed)):
        if stepped(project, place) & made:
            return label
    return None


def stepped(project: Project, place: Place | None) -> set[str]:
    """The names of the networks whose optimizer steps next after a pass."""
    if place is None:
        return set()
    for source, scope in project.scopes(place):
        for site in project.sites(source, scope, place)[-1:]:
            for statement in simple(source.body(scope)):
                if source.order(statement) > source.order(site) and isinstance(statement, cst.SimpleStatementLine):
                    optimizer = project.optimizer_of(statement)
                    if optimizer in project.optimizers:
                        return project.optimizers[optimizer]
    return set()
