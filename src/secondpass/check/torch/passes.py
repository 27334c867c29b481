# SPDX-License-Identifier: BSD-3-Clause
"""Passes: `backward()` and `grad()`, with what was seen when they began."""

from __future__ import annotations

from typing import Any

from ..interpreter.loops import at_least, iterate
from ..interpreter.machine import Machine, Raised
from ..interpreter.nodes import GraphNode
from ..interpreter.values import Tensor, Unknown
from .hooks import after_pass
from .live_tensors import look

__all__ = ["backward", "gradients", "maybe_backward"]


def _flag(m: Machine, words: dict[str, Any], name: str) -> bool | None:
    value = words.get(name)
    return False if value is None else m.known_truth(value)


def tensors_of(m: Machine, value: Any) -> list[Any]:
    """The tensors of an argument that may be one or several."""
    if isinstance(value, (Tensor, Unknown)):
        return [value]
    if value is None or isinstance(value, (int, float, str)):
        return []
    items = iterate(m, value)
    found = []
    for item in items:
        found.append(item)
        if items.length is None and len(found) >= 3:
            found.append(Unknown())
            break
    return found


def backward(m: Machine, roots: list[Any], words: dict[str, Any]) -> None:
    """`loss.backward()` and `torch.autograd.backward(losses)`."""
    known = [r if isinstance(r, Tensor) else Tensor(None, r.node) for r in roots if isinstance(r, (Tensor, Unknown))]
    if any(isinstance(r, Unknown) for r in roots) and len(known) == 1 and known[0].node is None:
        maybe_backward(m, [])
        return
    if m.trying and words.get("gradient") is None and any(_is_as_wide(r) for r in known):
        maybe_backward(m, known)  # it may be refused before anything is walked, and the program may catch that
        return
    inputs = words.get("inputs")
    _run(m, known, words, "backward", None if inputs is None else tensors_of(m, inputs))
    for root in roots if len(roots) == 1 else ():
        if isinstance(root, Unknown) and root.node is not None:
            root.walked = True
            m.engine.begun.add(root.node.number)


_EACH = frozenset(
    f"{n}Backward{k}" for n in "Add Sub Mul Div Pow Neg Exp Log Sin Cos Tanh Relu Sigmoid".split() for k in "01"
)


def _is_as_wide(root: Tensor) -> bool:
    """Whether a root was computed element by element from leaves: nothing shows that it has but one element."""
    todo, seen = [root.node], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.leaf is None and (node.name_ not in _EACH or node.maybe or node.opaque):
            return False
        todo.extend(node.parents)
    return bool(seen)


def gradients(m: Machine, outputs: Any, inputs: Any, words: dict[str, Any]) -> Any:
    """`torch.autograd.grad(outputs, inputs)`"""
    roots = [r if isinstance(r, Tensor) else Tensor(None, r.node) for r in tensors_of(m, outputs)]
    goals = tensors_of(m, inputs)
    create = _flag(m, words, "create_graph")
    if any(isinstance(g, Unknown) for g in goals):
        maybe_backward(m, roots)
        return tuple(Unknown() for _ in goals) if not isinstance(inputs, Unknown) else Unknown()
    walked = _run(m, roots, words, "grad", goals)
    if create is False:
        m.engine.cut("grad", "", m.place())
        found: list[Any] = [Tensor(False) for _ in goals]
    else:
        node = m.engine.derivative(walked, create, m.place(), m.stack(), m.loops())
        sure = create and not node.opaque
        found = [Tensor(True if sure and _depends(walked, goal) else None, node) for goal in goals]
    return tuple(found)


_MASKS = frozenset(
    f"{name}Backward{n}"
    for name in (
        "Clamp",
        "ClampMin",
        "ClampMax",
        "Maximum",
        "Minimum",
        "Max",
        "Min",
        "Amax",
        "Amin",
        "Fmax",
        "Fmin",
        "Gather",
        "MaskedSelect",
    )
    for n in (0, 1)
)
"""Nodes that only compare what they saved, or ask for its shape: their derivative has no history from it."""


def _depends(walked: list[GraphNode], goal: Tensor) -> bool:
    """Whether a gradient is made of anything that needs one: of what was saved on the way to what it is taken of."""
    above: set[GraphNode | None] = {goal.edge}
    for node in reversed(walked):
        if any(to in above for to, _ in node.edges):
            if node.name_ not in _MASKS and any(tensor.needs for _, tensor, _, _ in node.keeps):
                return True
            above.add(node)
    return False


def _run(m: Machine, roots: list[Tensor], words: dict[str, Any], kind: str, inputs: list[Any] | None) -> Any:
    create = _flag(m, words, "create_graph")
    if "retain_variables" in words:
        raise Raised("TypeError")  # the flag's name of old, which PyTorch no longer knows
    retain = create if words.get("retain_graph") is None else _flag(m, words, "retain_graph")
    if any(isinstance(t, Tensor) and t.needs is False for t in inputs or ()):
        raise Raised("RuntimeError")  # "One of the differentiated Tensors does not require grad"
    m.visit()
    if kind == "backward" and m.grad is not False:
        m.establish(roots)
    optimizers = look(m)
    m.engine.explain(roots, m.grad)
    goals = None if inputs is None else [t for t in inputs if isinstance(t, Tensor)]
    walked = m.engine.run(
        roots,
        kind=kind,
        inputs=goals,
        retain=retain,
        create=create,
        place=m.place(),
        stack=m.stack(),
        iteration=m.iteration(),
        loops=m.loops(),
        recording=m.grad,
        optimizers=optimizers,
    )
    m.trained = len(m.ran)
    if m.engine.again:
        at_least(m, 5)
    if m.hooks:
        after_pass(m, set(m.engine.passes[-1].walked or ()))
    return walked


def maybe_backward(m: Machine, roots: list[Any]) -> None:
    """A pass that may run, from roots that may be these: whatever it could have walked is in doubt afterwards."""
    nodes = [r.node for r in roots if getattr(r, "node", None) is not None]
    m.visit()
    m.engine.unknown_pass(nodes, m.place(), m.stack())
