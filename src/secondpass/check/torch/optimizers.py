# SPDX-License-Identifier: BSD-3-Clause
"""`torch.optim`: which parameters an optimizer owns, and what its step does to them."""

from __future__ import annotations

from typing import Any

from ...record import Owner, Step
from ..interpreter.library import models
from ..interpreter.loops import at_least, is_whole, iterate, wasted
from ..interpreter.machine import Machine
from ..interpreter.nodes import Leaf
from ..interpreter.values import Dict, List, Object, Tensor, Unknown
from .live_tensors import look
from .modules import unread
from .unread_networks import leaves as standing
from .unread_networks import weight

__all__ = ["name_optimizer"]


def _gather(m: Machine, value: Any, into: list[Leaf], depth: int = 0) -> bool:
    """Collects parameters; returns whether all of them could be told."""
    if isinstance(value, Tensor):
        if value.leaf is not None:
            into.append(value.leaf)
        return value.leaf is not None
    if isinstance(value, dict):
        return _gather(m, value.get("params"), into, depth + 1)
    if isinstance(value, Unknown) or depth > 4 or value is None or isinstance(value, (str, int, float)):
        return False
    if isinstance(value, Object):
        return False
    items, before = iterate(m, value), m.cuts
    whole = getattr(value, "kind", "") != "partial"
    count = 0
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            item = item[1]
        whole = _gather(m, item, into, depth + 1) and whole
        count += 1
        if items.length is None and count >= 400:
            return False
    return is_whole(m, value, items, before) and whole


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    given = args[1] if len(args) > 1 else kwargs.get("params")
    groups = List()
    owner.hidden["leaves"], owner.hidden["whole"] = [], True
    several = isinstance(given, (list, tuple)) and bool(given) and all(isinstance(g, dict) for g in given)
    for group in given if several and isinstance(given, (list, tuple)) else (given,):
        leaves: list[Leaf] = []
        owner.hidden["whole"] = _gather(m, group, leaves) and owner.hidden["whole"]
        params = group.get("params") if isinstance(group, dict) else group
        of = getattr(params, "of", ())
        members = [value for module in of for value in unread(module)] if not leaves else []
        if len(members) == 1:
            # PyTorch refuses an optimizer of nothing: the one thing in there that may have parameters has some.
            weight(m, members[0])
            leaves += standing(members[0])
        owner.hidden["leaves"] = list(dict.fromkeys([*owner.hidden["leaves"], *leaves]))
        owner.hidden["of"] = (*owner.hidden.get("of", ()), *of)
        made = Dict(group if isinstance(group, dict) else {"lr": Unknown(plain=True)})
        made["params"] = List([leaf.tensor for leaf in leaves])
        groups.append(made)
    owner.hidden["made"], owner.hidden["before"] = m.place(), len(m.engine.passes)
    owner.attrs["param_groups"] = groups
    owner.attrs["state"] = Unknown(plain=True)
    _own(m, owner)


def _renew(m: Machine, owner: Object) -> None:
    """Looks whether the program has put other parameters into the groups."""
    groups = owner.attrs.get("param_groups")
    leaves: list[Leaf] = []
    whole = isinstance(groups, List) and not groups.loose and _gather(m, groups, leaves)
    # A network inside a module shows to be one when it has been trained; whoever has the module's parameters has its own.
    for module in owner.hidden.get("of", ()):
        leaves += [leaf for value in unread(module) for leaf in standing(value)]
    if not whole:
        owner.hidden["whole"] = False
    if (whole or owner.hidden.get("of")) and leaves != owner.hidden.get("leaves"):
        owner.hidden["leaves"] = list(dict.fromkeys(leaves))
        m.engine.never.get(id(owner), set()).intersection_update(leaves)


def _missed(leaf: Leaf) -> bool:
    """Whether it would be a fault if it never got a gradient."""
    return bool(leaf.tensor.needs) and not leaf.doubt and not leaf.stands


def _own(m: Machine, owner: Object) -> None:
    name = owner.hidden.get("name", "")
    numbers = tuple(leaf.node.number for leaf in owner.hidden.get("leaves", ()) if leaf.tensor.needs)
    steps = owner.hidden.get("steps", 0)
    m.engine.listed = m.engine.listed and bool(owner.hidden.get("whole")) and bool(owner.hidden.get("leaves"))
    sure = owner.hidden.get("whole", False) and not owner.loose and owner.hidden.get("trains")
    never = [leaf.node.number for leaf in m.engine.never.get(id(owner), ()) if _missed(leaf)]
    bare = tuple(sorted(never, reverse=True)) if sure else None
    m.engine.owners[id(owner)] = Owner(name, numbers, bare, steps, owner.hidden.get("first"), owner.hidden.get("made"))


def name_optimizer(m: Machine, owner: Object, name: str) -> None:
    """Gives an optimizer the first name that the program gives it."""
    if not owner.hidden.get("name"):
        mine = {leaf.node.number for leaf in owner.hidden.get("leaves") or ()}
        alike = [o for i, o in m.engine.owners.items() if i != id(owner) and o.name.partition(" ")[0] == name]
        # Two that go by one name (`self.optimizer` of two agents) are two, unless they are made of the same parameters.
        others = {o.leaves for o in alike if mine.isdisjoint(o.leaves)}
        owner.hidden["name"] = f"{name} ({len(others) + 1})" if others else name
        _own(m, owner)


def _waits(owner: Object) -> bool:
    """Whether what wraps an optimizer lets its step and its zero_grad pass by, until enough gradients are gathered."""
    wrapper = owner.hidden.get("waits")
    return wrapper is not None and wrapper.attrs.get("sync_gradients") is False


def _step(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner = args[0]
    if _waits(owner):
        return None
    closure = args[1] if len(args) > 1 else kwargs.get("closure")
    value: Any = None
    when = m.engine.tick()
    before = len(m.engine.passes)
    if closure is not None:
        times = 3 if owner.cls.derives("torch.optim.LBFGS") else 1
        outer, m.engine.stepping = m.engine.stepping, True
        grad, m.grad = m.grad, True  # PyTorch's own optimizers switch recording on for it
        try:
            for turn in range(times):
                value = m.call(closure, [], {})
                if turn < times - 1:
                    leaves = [leaf for leaf in owner.hidden.get("leaves") or () if leaf.has and not leaf.doubt]
                    m.engine.move(leaves, when, m.place())
        except BaseException:
            inside = tuple(p.when for p in m.engine.passes[before:])
            m.engine.steps.append(Step(when, owner.hidden.get("name", ""), place=m.place(), passes=inside))
            raise
        finally:
            m.engine.stepping, m.grad = outer, grad
    _apply(m, owner, when, tuple(p.when for p in m.engine.passes[before:]))
    return value


def _apply(m: Machine, owner: Object, when: int, inside: tuple[int, ...]) -> None:
    _renew(m, owner)
    leaves = owner.hidden.get("leaves")
    m.visit()
    m.keep.append(owner)  # its identity must not be given to another object
    whole = bool(owner.hidden.get("whole", False))
    if leaves is not None and (owner.loose or (not whole and not leaves)):
        for leaf in leaves:
            leaf.store.doubt = len(m.engine.nodes)
        leaves = None
    steps = owner.hidden.get("steps", 0)
    if steps < 3:
        look(m, modules=True)
    owner.hidden["steps"] = steps + 1
    # Without any pass before them, steps only drive a schedule.
    owner.hidden["trains"] = len(m.engine.passes) > owner.hidden["before"]
    owner.hidden.setdefault("first", when)
    name = owner.hidden.get("name", "")
    if m.engine.step(leaves, name, id(owner), m.place(), m.iteration(), when, inside, whole):
        at_least(m, 5)
    _own(m, owner)


def _zero(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    if _waits(owner):
        return
    m.visit()
    _renew(m, owner)
    leaves = owner.hidden.get("leaves")
    if leaves is not None and not owner.hidden.get("whole", False):
        for leaf in m.engine.leaves:
            leaf.piled, leaf.made = False, leaf.made and None
    if m.engine.zero(leaves, owner.hidden.get("name", ""), m.place()):
        wasted(m)


def _add_group(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    group = args[1] if len(args) > 1 else kwargs.get("param_group")
    leaves: list[Leaf] = []
    owner.hidden["whole"] = _gather(m, group, leaves) and owner.hidden.get("whole", False)
    made = Dict(group if isinstance(group, dict) else {})
    made["params"] = List([leaf.tensor for leaf in leaves])
    groups = owner.attrs.get("param_groups")
    if isinstance(groups, List):
        groups.append(made)
    _renew(m, owner)
    _own(m, owner)


models(
    "torch.optim.Optimizer",
    __init__=_init,
    step=_step,
    zero_grad=_zero,
    add_param_group=_add_group,
    state_dict=lambda m, args, kwargs: Unknown(plain=True),
    load_state_dict=lambda m, args, kwargs: None,
)
for _name in (
    "Adam AdamW SGD RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop SparseAdam LBFGS Adafactor Muon"
).split():
    models(f"torch.optim.{_name}", "torch.optim.Optimizer")
