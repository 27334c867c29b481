# SPDX-License-Identifier: BSD-3-Clause
"""Networks that are not read: a library's, an argument, what a factory made.

NOTE [ Networks that are not read ]
1. A value that was given to the program (an argument, what a library or a factory made) and is called with data is one
   operation that takes the history of what it is called with. It keeps no graph from one call to the next. Functions
   and methods of code that is not read are no such values: they may do anything.
2. It is a network, with parameters of its own, if the program asks for its parameters; or if a pass is made from what it
   gave, and nothing else could have given that a history.
3. What a network gives has history, for certain: that of what went in, even if its parameters are frozen, and that of
   its parameters, unless they are. The node saves something, and its parameters if an input has history too. (A single
   layer over plain inputs need not have saved its weight.)
4. Its parameters are told as one, which stands for all: it is trained when an optimizer has it, and never missed.
5. Of several things that one call gives, each has the history of what went in, and of the parameters. Whether they share
   more than that cannot be told (two critics in one module share nothing), unless one of them goes into the same network
   again: what a recurrent network gives is made from its state.
6. Where a pass is made from what a value gave that has no parameters as far as is known (a loss of a library), and all that
   went in with a history comes from the same parameters, it is that history that the pass walks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...autograd.lifecycle import reach
from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode
from ..interpreter.values import Function, List, Native, Object, Tensor, Unknown
from .edges import arguments, edges, flatten
from .methods import is_method
from .modules import make_parameter
from .tensors import opaque

__all__ = ["as_tensor", "establish", "forward", "is_given", "leaves", "member", "part", "weight"]

_PART = "UnbindBackward0"
_PLAIN = frozenset("data shape dtype device ndim is_leaf requires_grad".split())


def is_given(function: Unknown, values: list[Any]) -> bool:
    """Whether a call is that of a value that takes in data: NOTE [ Networks that are not read ] 1."""
    if not values or not (function.instance or function.network is not None):
        return False
    return not any(isinstance(v, Function) or _acts(v) for v in values)


def _acts(value: Any) -> bool:
    """Whether a value trains, or can be trained."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(v, Tensor) and v.is_param for v in value)
    if isinstance(value, Unknown):
        return value.network is not None
    return isinstance(value, Object) and ("leaves" in value.hidden or value.cls.derives("torch.nn.Module"))


def weight(m: Machine, value: Unknown) -> Tensor:
    """The parameter that stands for all of a network's."""
    if value.network is None:
        last = value.key[-1] if isinstance(value.key, tuple) and value.key else ""
        made = value.network = make_parameter(m, last if isinstance(last, str) else "")
        assert made.leaf is not None
        made.leaf.stands = True
    return value.network


def leaves(value: Unknown) -> Iterator[Any]:
    """The leaves that stand for the parameters of a network and of its parts."""
    if value.network is not None:
        yield value.network.leaf
    for part in (value.memo or {}).values():
        yield from leaves(part)


def forward(m: Machine, function: Unknown, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    """Calls a network: NOTE [ Networks that are not read ] 3."""
    values: list[Any] = []
    flatten(m, [*args, *kwargs.values()], values, 0)
    weight = function.network
    if m.grad is False:
        return Unknown()
    _recur(m, function, values)
    _, certain, maybe = edges(values if weight is None else [*values, weight])
    if weight is None or not certain or not m.grad:
        node = opaque(m, values if weight is None else [*values, weight])
        node.given = function
        if certain and weight is None and m.grad:
            m.engine.took[node] = tuple(dict.fromkeys(certain))
        return Unknown(node=node)
    node = m.engine.node("AddmmBackward0", certain, maybe, m.place(), m.stack())
    node.loops, node.arguments = m.loops(), arguments(values)
    node.given = function
    _save(node, weight)
    return Unknown(node=node)


def part(m: Machine, value: Unknown) -> GraphNode | None:
    """The history of one of several things that a call gave: their names are to be told apart."""
    whole = value.node
    if whole is None or whole.given is None:
        return whole
    node = m.engine.node(_PART, (), (whole,), m.place(), m.stack())
    node.loops, node.given, node.opaque, node.network = m.loops(), whole.given, whole.opaque, whole.network
    if whole.network:
        _divide(m, node)
    return node


def _divide(m: Machine, part: GraphNode) -> None:
    """What is known of one of several things: NOTE [ Networks that are not read ] 5."""
    (whole,) = part.maybe
    if part.given is not None and part.given.recurrent:
        part.connect((whole,))
        part.vague = False
        if part.freed and whole.freed is None:
            whole.freed_by = part.freed_by
        m.engine.also_walked(part, whole)
    else:
        part.edges = whole.edges
        part.vague = True


def _recur(m: Machine, function: Unknown, values: list[Any]) -> None:
    """Something that a network gave goes into it again."""
    if function.recurrent or not any(v.node is not None and v.node.given is function for v in values):
        return
    function.recurrent = True
    for node in m.engine.nodes:
        if node.given is function and node.name_ == _PART and node.network and node.maybe:
            _divide(m, node)


def _save(node: GraphNode, weight: Tensor) -> None:
    node.network = True
    node.save(("weight",), [("weight", weight)])
    if all(p.leaf is not None for p in node.parents):
        node.unsure = frozenset({"weight"})


def establish(m: Machine, roots: list[Tensor]) -> None:
    """A pass is made: what alone can have given its roots a history is a network."""
    certain, _ = reach([r.node for r in roots if r.node is not None])
    for node in [n for n in certain if n.opaque]:
        given, behind = node.given, _behind(node)
        if given is None or behind is None:
            continue
        own = weight(m, given)
        if not own.needs:
            continue
        assert own.leaf is not None
        for each in (*behind, *_alike(m, given, behind)):
            each.opaque, each.network = False, True
            if each.name_ != _PART:
                each.connect((own.leaf.node, *each.maybe))
                _save(each, own)
        for each in (n for n in m.engine.nodes if n.given is given and n.name_ == _PART and n.network and not n.edges):
            _divide(m, each)
    for root in roots:
        _follow(m, root)


def _follow(m: Machine, root: Tensor) -> None:
    """A pass is made: NOTE [ Networks that are not read ] 6."""
    here = root.node
    while here is not None and here.leaf is None and not here.edges:
        possible = tuple(n for n in here.maybe if not n.hollow)
        took = m.engine.took.get(here, ())
        if here.opaque and (set(possible) != set(took) or not _are_of_one(took)):
            return
        if not here.opaque and len(possible) != 1:
            return
        here.vague, here.opaque = here.vague or here.opaque, False
        here.connect(possible)
        here = possible[0] if len(possible) == 1 else None


def _are_of_one(nodes: tuple[GraphNode, ...]) -> bool:
    """Whether several things come from the same parameters."""
    behind = {frozenset(n for n in reach([node])[0] if n.leaf is not None) for node in nodes}
    return len(nodes) == 1 or (len(behind) == 1 and frozenset() not in behind)


def _alike(m: Machine, given: Unknown, known: list[GraphNode]) -> Iterator[GraphNode]:
    """The other things that those calls gave, and calls of the same value that took in nothing else."""
    sure = set(known)
    for node in m.engine.nodes:
        if (
            node.given is given
            and node.opaque
            and not node.parents
            and node not in sure
            and sure.issuperset(node.maybe)
        ):
            sure.add(node)
            yield node


def _behind(node: GraphNode) -> list[GraphNode] | None:
    """The calls of one value that lie behind a node, if nothing else does."""
    found: dict[GraphNode, None] = {}
    todo = [node]
    while todo:
        here = todo.pop()
        if here in found:
            continue
        if here.given is not node.given or not here.opaque or here.parents:
            return None
        found[here] = None
        todo.extend(here.maybe)
    return list(found)


def as_tensor(value: Any) -> Any:
    """What a call of a given value gave is a tensor where the program computes with it; what a pass began at is one."""
    if not isinstance(value, Unknown) or value.plain or value.node is None:
        return value
    return Tensor(value.gave or None, value.node) if value.walked or value.node.given is not None else value


def member(m: Machine, owner: Unknown, name: str) -> Any:
    """An attribute of an unknown value that tells what it is, or None."""
    if name in _PLAIN and owner.node is not None and owner.node.given is not None:
        found = owner.attribute(name)
        found.plain, found.node = True, None
        return found
    if owner.node is not None and owner.node.given is not None and not is_method(name):
        known = owner.memo is not None and name in owner.memo
        found = owner.attribute(name)
        found.node = found.node if known else part(m, owner)
        return found
    if name in ("parameters", "named_parameters"):
        return Native(name, lambda m, args, kwargs: _parameters(m, owner, name))
    if name in ("train", "eval"):
        return Native(name, lambda m, args, kwargs: _mode(owner, args))
    if owner.network is None:
        return None
    if name == "zero_grad":
        return Native(name, lambda m, args, kwargs: _zero_grad(m, owner))
    if name in ("requires_grad_", "load_state_dict"):
        return Native(name, lambda m, args, kwargs: _change(m, owner, name))
    return None


def _parameters(m: Machine, owner: Unknown, name: str) -> List:
    own = weight(m, owner)
    made = List([(Unknown(plain=True), own)] if name == "named_parameters" else [own])
    made.kind = "complete"
    return made


def _mode(owner: Unknown, args: list[Any]) -> Unknown:
    owner.instance = owner.instance or not args
    return owner


def _zero_grad(m: Machine, owner: Unknown) -> None:
    m.visit()
    m.engine.zero(list(leaves(owner)), "", m.place())


def _change(m: Machine, owner: Unknown, name: str) -> Unknown:
    """Some of its parameters may be others from here on, or gather no gradients."""
    for leaf in leaves(owner):
        if name == "requires_grad_":
            leaf.tensor.needs = None
            m.settings += 1
        else:
            leaf.store.doubt = len(m.engine.nodes)
    return owner
