# SPDX-License-Identifier: BSD-3-Clause
"""A parameter of the optimizer never gets a gradient.

## What happened

An optimizer owns parameters that no pass ever reached, so no step ever changed
them. Either a layer was replaced after the optimizer was made, and the
optimizer still holds the old one; or the output of a part is cut off
(`detach()`, `no_grad()`, `.data`) on its way to the loss; or no loss uses it,
though it may have been given to the function that computes one.

The same with the places changed: a module has layers in a plain list or
dictionary, which `parameters()` does not look into. Every pass reaches them,
and no optimizer has them.

## Why PyTorch does not refuse

A parameter without a gradient is ordinary, and `step()` passes over it. The
optimizer holds the parameter objects it was given when it was made; it does
not look at the model again.

## How to tell

After a pass, print the names of parameters whose `.grad` is None. For a
replaced layer, `any(p is q for g in optimizer.param_groups for q in
g["params"])` is False for its parameters `p`. A new head that never learns,
on a backbone that does, is the usual sign.

## Remedies

- **reorder**: make the optimizer last, when the model has its final layers.
  `optimizer.add_param_group({"params": model.head.parameters()})` adds late
  ones.
- **keep-history**: take away the cut between the part and the loss.
- **other**: where the part is meant to stay frozen, give the optimizer only
  what is trained, and set `requires_grad_(False)` on the rest.
- **other**: layers in a list belong in an `nn.ModuleList`, in a dictionary in
  an `nn.ModuleDict`, parameters in an `nn.ParameterList`.

## Example

```python
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model[1] = torch.nn.Linear(4, 1)  # a new head: the optimizer has the old one
before = model[1].weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # no error: the new head stays as it is
assert (model[1].weight == before).all()
```

The optimizer comes last:

```python
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
model[1] = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model[1].weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert (model[1].weight != before).any()
```

## What people do instead, and why not

`find_unused_parameters=True` (for `DistributedDataParallel`) and `if p.grad is
not None` guards keep the program going around the hole. A higher learning rate
for the head multiplies nothing by ten.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..record import Carrier, Finding, Owner, Place, Trace
from ..source import assigned
from ._finding import place_of, quoted, remedy, warning
from .facts.lines import sources_of
from .facts.names import as_written
from .facts.unused import Branches, CutOff, Unused, behind, is_below, never_read, prefix_of, since
from .lost_history import HOW, WITHOUT_GRADIENT, is_silent

CODE = "SP406"
TITLE = "a parameter of the optimizer never gets a gradient"
REMEDIES = ("keep-history", "reorder", "other")
TRIED = ("reorder", "keep-history", "other")
CAUSED_BY = ("combine-losses", "detach", "item", "other")

_STEPS = 2

_CUTS = ("detach", "data", "wrap")
"""Cuts that are made for the sake of the value that is left."""


def diagnose(trace: Trace) -> list[Finding]:
    """Parameters that were replaced after the optimizer was made, and optimizers that nothing reaches."""
    if not trace.ended or any(p.roots and max(p.roots) < 0 for p in trace.passes) or is_silent(trace):
        return []  # a loss without history reaches nothing: that is another cause
    return [replace(f, facts={**f.facts, "owner": place_of(o.place)}) for o in trace.owners for f in _of(trace, o)]


def reached_by(trace: Trace, owner: Owner) -> set[str]:
    """The names of an optimizer's parameters that passes walked."""
    return {trace.nodes[n].leaf or "" for n in _reached(trace).intersection(owner.leaves) if n in trace.nodes}


def _of(trace: Trace, owner: Owner) -> list[Finding]:
    """What is the matter with one optimizer."""
    if (owner.idle or 0) > _STEPS and (now := _named_alike(trace, owner)):
        return [_replaced(trace, owner, now, while_it_ran=True)]
    # Those that a pass reached had a gradient that was cleared again: another cause.
    bare = set(owner.bare or ()) - _filled(trace, owner)
    found = _unregistered(trace, owner) if owner.steps >= _STEPS else []
    if owner.steps < _STEPS or bare <= set(owner.kept_alike or ()):
        return found
    orphans = bare - trace.held if trace.held is not None else set()
    # What the passes before its steps reach, of several optimizers: another network of the program may well have none.
    alone = len(trace.owners) == 1
    near = _strangers(trace, None if alone else owner)
    # Leaves that are no part of a module are data that a derivative is asked for, where anything else was reached.
    near = [n for n in near if "." in n] or (near if alone else [])
    if orphans and near:
        return [*found, _replaced(trace, owner, near, gone=bare <= orphans)]
    if near and bare == set(owner.leaves):
        return [*found, _another(trace, owner, near)]
    if bare == set(owner.leaves):
        return [*found, _unreached(trace, owner, [trace.nodes[n].leaf or "" for n in bare if n in trace.nodes])]
    return [*found, *_cut_off(trace, owner, bare)]


def _filled(trace: Trace, owner: Owner) -> set[int]:
    """The leaves that passes have walked, and (as far as somebody looked) given a gradient: a function of the program's own may
    give None."""
    never = set(owner.bare or ()) - set(owner.given) if owner.given is not None else set()
    walks = [(p.walked or frozenset(), p.filled) for p in trace.passes if p.when >= (owner.first or 0)]
    return {n for walked, filled in walks for n in walked if n < 0 and (filled is None or n not in never)}


def _reached(trace: Trace, since: int | None = None) -> set[int]:
    """The leaves that passes are known to have walked (since a moment)."""
    return {n for p in trace.passes if p.when >= (since or 0) for n in p.walked or () if n < 0}


def _strangers(trace: Trace, owner: Owner | None = None) -> list[str]:
    """Parameters that passes reach (those right before the steps of one optimizer) and that belong to no optimizer."""
    owned = {n for o in trace.owners for n in o.leaves}
    reached = _reached(trace)
    if owner is not None:
        ends = [(s.when, s.leaves == owner.leaves) for s in trace.steps]
        next_step = {p.when: next((mine for when, mine in ends if when > p.when), False) for p in trace.passes}
        reached = {n for p in trace.passes if next_step[p.when] for n in p.walked or () if n < 0}
    return sorted(trace.nodes[n].leaf or "" for n in reached - owned if n in trace.nodes and trace.nodes[n].leaf)


def _unregistered(trace: Trace, owner: Owner) -> list[Finding]:
    """Parameters in a plain list or dictionary of a module all of whose registered ones the optimizer was given.

    A list of one (`self.vgg = [vgg]`) is how people keep a network from being registered.
    """
    moved = {n for s in trace.steps for n in s.moved or ()} | {n for o in trace.owners for n in o.leaves}
    left = {n for n in trace.unregistered.keys() & _reached(trace) if n not in moved}
    if moved & trace.unregistered.keys():
        return []  # somebody knows of them, be it that others of them are meant to stay as they are
    found = []
    for path, kind, items in sorted({trace.unregistered[n] for n in left}):
        module = path.rpartition(".")[0]
        own = {n for n in trace.held or () if is_below(trace.nodes[n].leaf or "", module)} if module else set()
        own -= trace.unregistered.keys()
        if items > 1 and own and own <= set(owner.leaves):
            found.append(_in_plain_container(trace, owner, path, kind))
    return found


def _in_plain_container(trace: Trace, owner: Owner, path: str, kind: str) -> Finding:
    module, _, attribute = path.rpartition(".")
    place = _set_in(trace, kind, attribute) or _placed(trace, owner, module)
    made = quoted(owner.name, "the optimizer")
    message = (
        f"The parameters in `{path}` get gradients but are not in {made}: `{module}` has them in a plain container, "
        f"so `{module}.parameters()` does not give them, and no step moves them."
    )
    why = (
        "A module registers what is assigned to it as a module or a parameter, and does not look into lists and "
        "dictionaries: those are not trained, saved, moved to a device or cleared with it."
    )
    title = f"make `{attribute}` a container that registers: `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList`"
    remedies = [remedy("other", title, why, target=path, place=place)]
    return warning(
        CODE,
        "unreached-parameter",
        message,
        place,
        remedies,
        carrier=Carrier(path, "attribute"),
        unregistered=attribute,
    )


def _replaced(
    trace: Trace, owner: Owner, strangers: list[str], while_it_ran: bool = False, *, gone: bool = False
) -> Finding:
    """A network took another's place after its optimizer was made, or after it had trained (`while_it_ran`).

    :param gone: nothing holds the old parameters any more, but the optimizer
    """
    name = prefix_of(strangers) if len(strangers) > 1 else strangers[0].rpartition(".")[0]
    stayed = (trace.nodes[n].leaf or "" for n in (trace.held or frozenset()).intersection(owner.leaves))
    if not while_it_ran and any(is_below(leaf, name) and leaf not in strangers for leaf in stayed):
        return _given_anew(trace, owner, strangers)
    place = _placed(trace, owner, name)
    made = quoted(owner.name, "the optimizer")
    lives_on = trace.held is not None and trace.held >= set(owner.leaves)
    if lives_on and not while_it_ran:
        message = (
            f"`{name}` gets gradients but is not in {made}, which holds the parameters of the `{name}` that was there before, "
            "and is still held elsewhere: no step changes what is trained."
        )
        kind, title = (
            "reorder",
            f"train one `{name}`: make {made} of the new one, and go on with that, or do not replace it",
        )
    elif while_it_ran:
        message = (
            f"`{name}` was replaced while {made} went on with the parameters of the old one: "
            "the last steps moved nothing that is still in use."
        )
        kind = "other"
        title = f"make a new optimizer where `{name}` is replaced, or load the new weights into the old `{name}`"
    else:
        message = (
            f"`{name}` gets gradients but is not in {made}, which still holds parameters that nothing uses any more: "
            f"it was replaced after {made} was made."
        )
        kind, title = "reorder", f"make {made} after `{name}` has its final value"
    why = "An optimizer keeps the parameters it was given; those that come later are never updated."
    remedies = [remedy(kind, title, why, target=owner.name, place=place)]
    return warning(
        CODE,
        "unreached-parameter",
        message,
        place,
        remedies,
        carrier=Carrier(name, "attribute"),
        parameters=strangers,
        lives_on=lives_on,
        gone=gone,
    )


def _given_anew(trace: Trace, owner: Owner, strangers: list[str]) -> Finding:
    """Some parameters of a network were given another value each, a new parameter, after its optimizer was made."""
    found = [(place, name) for name in strangers if (place := _assigned_at(trace, name)) is not None]
    place, name = min(found, key=lambda one: one[0].line) if found else (_placed(trace, owner), strangers[0])
    made = quoted(owner.name, "the optimizer")
    message = (
        f"`{name}` gets gradients but is not in {made}, which still holds the parameter that was there before: it was assigned "
        f"anew after {made} was made" + (f", and so were {len(strangers) - 1} more." if len(strangers) > 1 else ".")
    )
    remedies = [
        remedy(
            "other",
            f"fill the parameter that is there (`with torch.no_grad(): {name}.copy_(...)`), or make {made} afterwards",
            "An optimizer keeps the parameters it was given; those that come later are never updated.",
            target=name,
            place=place,
        )
    ]
    return warning(CODE, "unreached-parameter", message, place, remedies, carrier=Carrier(name, "attribute"))


def _named_alike(trace: Trace, owner: Owner) -> list[str]:
    """The strangers that have taken the place, and the names, of parameters that an optimizer still holds and that no module
    in sight holds any more."""
    if trace.held is None:
        return []
    now = {trace.nodes[n].leaf for n in trace.held if n in trace.nodes}
    left = {trace.nodes[n].leaf for n in owner.leaves if n not in trace.held and n in trace.nodes} & now
    return [name for name in _strangers(trace) if name in left]


def _another(trace: Trace, owner: Owner, strangers: list[str]) -> Finding:
    """What the passes reach is one network, what the optimizer was given is another: a copy, or the original of one."""
    name, held = prefix_of(strangers), prefix_of([trace.nodes[n].leaf or "" for n in owner.leaves if n in trace.nodes])
    if name and name == held:
        return _replaced(trace, owner, strangers)  # the name was given to another one
    made = quoted(owner.name, "the optimizer")
    if _set_by_others(trace, strangers):
        return _copied(trace, owner, name, held)
    place = _placed(trace, owner)
    message = (
        f"{made} holds the parameters of {quoted(held, 'one network')}, but the losses reach "
        f"{quoted(name, 'another one')}: no step changes what is trained."
    )
    remedies = [
        remedy(
            "other",
            f"make {made} of the parameters of {quoted(name, 'the network that is trained')}",
            "A copy has parameters of its own; an optimizer moves only those that it was given.",
            target=name,
            place=place,
        )
    ]
    carrier = Carrier(held or name, "local") if held or name else None
    return warning(CODE, "unreached-parameter", message, place, remedies, carrier=carrier, held=held)


def _set_by_others(trace: Trace, strangers: list[str]) -> bool:
    """Whether something that is no optimizer gives parameters other values, turn by turn: to train them would be of no use."""
    leaves = {n for n, node in trace.nodes.items() if node.leaf in strangers}
    return sum(not s.optimizer and bool(leaves & set(s.moved or ())) for s in trace.steps) >= _STEPS


def _copied(trace: Trace, owner: Owner, name: str, held: str) -> Finding:
    """The values of one network's output are written into the parameters of another: they arrive without history."""
    made = quoted(owner.name, "the optimizer")
    other = quoted(name, "another network")
    message = (
        f"{made} holds the parameters of {quoted(held, 'one network')}, but the losses reach {other}, whose parameters are "
        "overwritten between the passes: what is written into a parameter leaves its history behind."
    )
    title = f"compute with the new values themselves: `torch.func.functional_call({name or 'network'}, values, inputs)`"
    why = "`load_state_dict()` and `copy_()` copy numbers; a function of the values keeps their history."
    place = _overwritten(trace, name) or _placed(trace, owner)
    remedies = [remedy("keep-history", title, why, target=name, place=place)]
    carrier = Carrier(held or name, "local") if held or name else None
    return warning(CODE, "unreached-parameter", message, place, remedies, carrier=carrier, held=held)


def _overwritten(trace: Trace, name: str) -> Place | None:
    """The statement that loads values into a network, of those that ran."""
    ran = {(p.file, p.line) for p in trace.called or ()}
    for file, source in sources_of(trace):
        for stmt in (s for f, line in ran if f == file for s in source.beginning(line)):
            for call in (n for n in ast.walk(stmt) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)):
                assert isinstance(call.func, ast.Attribute)
                if call.func.attr == "load_state_dict" and ast.unparse(call.func.value) == name:
                    return Place(file, call.lineno, source.function_name(call.lineno))
    return None


def _unreached(trace: Trace, owner: Owner, names: list[str]) -> Finding:
    name = prefix_of([n for n in names if n]) if any(names) else ""
    shown = quoted(name, "its parameters")
    message = f"No parameter of {quoted(owner.name, 'the optimizer')} ever gets a gradient: no loss reaches {shown}."
    branches = Branches(trace, owner)
    cut = branches.cut_off(name) if name else None
    lost = branches.unused(name, set(owner.leaves)) if name else None
    missing = lost
    if cut is not None:  # as an advantage takes a value: the loss that trains it is another one
        sure = cut.kind == "detach"
        missing = branches.unused(name, set(owner.leaves), compared=True) if sure else None
    built = missing.built if missing is not None else cut.place if cut is not None else None
    place = (missing.root if missing is not None else None) or built or _placed(trace, owner)
    remedies = [
        remedy(
            "keep-history",
            f"let the loss reach {shown}{_left_out(lost)}",
            "Without a gradient a step changes nothing.",
            target=name,
            place=built,
        )
    ]
    carrier = Carrier(name, "local") if name else None
    kind = cut.kind if cut is not None else ""
    finding = warning(
        CODE, "unreached-parameter", message, place, remedies, carrier=carrier, cut=kind, forgotten=lost is not None
    )
    return replace(finding, built=built)


def _cut_off(trace: Trace, owner: Owner, bare: set[int]) -> list[Finding]:
    """Whole modules that the program runs, whose output is then cut off, or used by no loss."""
    never = {trace.nodes[n].leaf or "" for n in bare if n in trace.nodes}
    fine = {trace.nodes[n].leaf or "" for n in owner.leaves if n not in bare and n in trace.nodes}
    modules: set[str] = set()
    for leaf in never:
        parts = leaf.split(".")
        for k in range(1, len(parts) + 1):
            prefix = ".".join(parts[:k])
            if not any(f == prefix or f.startswith(prefix + ".") for f in fine):
                modules.add(prefix)
                break
    found: list[Finding] = []
    branches = Branches(trace, owner)
    for name in sorted(modules):
        inside = {n for n in bare if n in trace.nodes and is_below(trace.nodes[n].leaf or "", name)}
        if inside & set(owner.kept_alike or ()):
            continue  # a copy of another network: it is not to be trained
        single = trace.nodes[min(inside)].leaf if len(inside) == 1 else None
        cut, finding = branches.cut_off(name), None
        shown = single or (cut.name if cut is not None else "") or name  # one parameter goes by its own name
        if cut is None and name.rpartition(".")[0] not in trace.libraries:
            finding = _branch(branches, owner, name, shown, inside) or _idle(trace, owner, name)
            cut = _cut_behind(trace, owner, inside) if finding is None else None
        if cut is not None and cut.kind == "detach":
            # As an advantage takes a value: the loss that trains it is another one.
            finding = _branch(branches, owner, name, shown, inside, compared=True)
        if cut is not None and finding is None:
            finding = _cut(trace, owner, name, shown, cut, branches.unused(name, inside))
        # Otherwise it is never run, or cut where the source does not show it: it may be meant so.
        if finding is not None and not any(f.failed == finding.failed for f in found):
            found.append(finding)
    return found


def _cut_behind(trace: Trace, owner: Owner, leaves: set[int]) -> CutOff | None:
    """Where what was computed with some leaves was seen to lose its history: a loss is made of it, past the cut. A number that
    is only looked at, a comparison that only counts, is no cut; nor is what comes after the optimizer's last step."""
    first = since(trace, owner)
    last = max((s.when for s in trace.steps if s.leaves == owner.leaves), default=first)
    for cut in (c for c in reversed(trace.cuts) if first <= c.when <= last and (c.kind in _CUTS or c.reached)):
        if cut.number is not None and cut.place is not None and leaves & behind(trace, cut.number):
            return CutOff(cut.kind, cut.place)
    return None


def _as_written(trace: Trace, name: str) -> str:
    """`net.1.gate` is no name in Python: what the class of `net[1]` calls it."""
    outer, _, own = name.rpartition(".")
    if not own.isdigit() and any(part.isdigit() for part in outer.split(".")):
        return as_written(trace, name, ())
    return name


def _left_out(lost: Unused | None) -> str:
    """A loss that would reach it, and that no pass takes."""
    return f" (`{lost.name}` would, and no backward goes through it)" if lost is not None and lost.name else ""


def _in_forward(owner: Owner, name: str, shown: str, why: str) -> str:
    made, runs = quoted(owner.name, "the optimizer"), "runs" if shown == name else "is used"
    return f"`{shown}` is in {made} and {runs} in the forward, but never gets a gradient: {why}."


def _cut(trace: Trace, owner: Owner, name: str, shown: str, cut: CutOff, lost: Unused | None) -> Finding:
    """:param lost: a loss that is computed with it and that no pass takes: then the cut may be meant"""
    if shown != name:
        how = "that is where gradients are switched off" if cut.kind == "no_grad" else "its history is cut off there"
    else:
        how = "it runs where gradients are switched off" if cut.kind == "no_grad" else "its output is cut off"
    title, why = (
        f"let gradients flow back into `{shown}`{_left_out(lost)}",
        "Without a gradient a step changes nothing.",
    )
    if cut.kind in WITHOUT_GRADIENT:  # there is nothing to take away
        how, title = f"{HOW[cut.kind]} there", f"{WITHOUT_GRADIENT[cut.kind]} to train `{shown}`"
    elif cut.kind == "checkpoint":
        how, title = HOW[cut.kind], f"checkpoint with `use_reentrant=False` to train `{shown}`"
    message = _in_forward(owner, name, shown, how)
    remedies = [
        remedy(
            "keep-history",
            f"{title}, or take it out of the optimizer",
            why,
            target=name,
            place=cut.place,
        )
    ]
    carrier = Carrier(_as_written(trace, shown), "attribute")
    finding = warning(
        CODE,
        "unreached-parameter",
        message,
        cut.place,
        remedies,
        carrier=carrier,
        cut=cut.kind,
        forgotten=lost is not None,
        made=place_of(owner.place),
        optimizer=owner.name,
    )
    return replace(finding, built=cut.place)


def _idle(trace: Trace, owner: Owner, name: str) -> Finding | None:
    """A module that is made, given to the optimizer and read nowhere."""
    place = never_read(trace, name) if trace.window is not None else None  # `check` may not have read all there is
    if place is None:
        return None
    made = quoted(owner.name, "the optimizer")
    message = f"`{name}` is in {made}, but no line of the program uses it: it never gets a gradient."
    why = "What nothing runs cannot learn; a step passes over it."
    use = remedy("other", f"use `{name}` in the forward, or take it away", why, target=name, place=place)
    return warning(CODE, "unreached-parameter", message, place, [use], carrier=Carrier(name, "attribute"))


def _branch(
    branches: Branches, owner: Owner, name: str, shown: str, leaves: set[int], *, compared: bool = False
) -> Finding | None:
    """A module that runs, and whose output no loss uses."""
    found = branches.unused(name, leaves, compared=compared)
    if found is None:
        return None
    made = quoted(owner.name, "the optimizer")
    through = (
        f"`{found.name}`, which is computed with it, is in no loss" if found.name else "no loss uses what it computes"
    )
    message = _in_forward(owner, name, shown, through)
    place = found.root or found.built
    remedies = [
        remedy(
            "keep-history",
            f"add what {'is computed with ' * (shown != name)}`{shown}`{' computes' * (shown == name)} to the loss, or take it out "
            f"of {made}",
            "Without a gradient a step changes nothing.",
            target=name,
            place=place,
        )
    ]
    finding = warning(
        CODE,
        "unreached-parameter",
        message,
        place,
        remedies,
        carrier=Carrier(_as_written(branches.trace, shown), "attribute"),
        branch=found.name,
        forgotten=True,
    )
    return replace(finding, built=found.built)


def _set_in(trace: Trace, kind: str, attribute: str) -> Place | None:
    """The first line in a class, or else in any, that assigns an attribute of its objects."""
    found: list[tuple[bool, Place]] = []
    for file, tree in sources_of(trace):
        for outer in (n for n in ast.walk(tree.tree) if isinstance(n, ast.ClassDef)):
            for node in (n for n in ast.walk(outer) if isinstance(n, ast.stmt)):
                if any(isinstance(t, ast.Attribute) and t.attr == attribute for t in assigned(node)):
                    place = Place(file, node.lineno, f"{outer.name}.{tree.function_name(node.lineno)}")
                    found.append((outer.name != kind, place))
    return min(found, key=lambda one: one[0])[1] if found else None


def _placed(trace: Trace, owner: Owner, name: str = "") -> Place | None:
    """Where a module, or what it is a part of, was last assigned; else where its optimizer was made, or steps."""
    parts = name.split(".")
    steps = [s.place for s in trace.steps if s.leaves == owner.leaves and s.place is not None]
    near = steps[-1].function if steps else ""
    for k in range(len(parts), 0, -1):
        place = _assigned_at(trace, ".".join(parts[:k]), owner.place.function if owner.place is not None else near)
        if place is not None:
            return place
    return _assigned_at(trace, owner.name, near) or owner.place or (steps[-1] if steps else None)


def _assigned_at(trace: Trace, name: str, near: str = "") -> Place | None:
    """The last line that assigns a module (or an optimizer), in a function that is preferred."""
    attribute = name.rpartition(".")[2]
    if not attribute:
        return None
    best: tuple[tuple[int, bool], Place] | None = None
    for file, tree in sources_of(trace):
        for node in (n for n in ast.walk(tree.tree) if isinstance(n, ast.stmt)):
            for target in assigned(node):
                written = ast.unparse(target).replace("[", ".").replace("]", "")  # `model[1]` is the module model.1
                function = getattr(tree.function(node.lineno), "name", "<module>")
                later = written.endswith(f".{attribute}") and function != "__init__"
                rank = 0 if written == name else 1 if later else 9
                order = (rank, bool(near) and not near.endswith(function))
                if rank < 9 and (best is None or order <= best[0]):
                    best = (order, Place(file, node.lineno, function))
    return best[1] if best is not None else None
