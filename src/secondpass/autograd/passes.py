# SPDX-License-Identifier: BSD-3-Clause
"""`backward()` and `grad()`: what is checked before a walk, the walk, and how gradients are handed to it.
See NOTE [ The order of a pass ] of `lifecycle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import lifecycle
from .graph import Edge, GraphError, Node
from .ops.reduce import sum_to
from .ops.shape import memory
from .place import here, place
from .recording import arrays, tensors
from .tensors import UNRECORDED, Tensor, edge_of
from .thread_state import set_grad_enabled, state

__all__ = ["Walk", "backward", "grad"]


def backward(
    roots: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Walks the graph behind the roots and accumulates gradients in its leaves."""
    _pass("backward", roots, grad_tensors, retain_graph, create_graph, inputs)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of the outputs with respect to the inputs; nothing is accumulated."""
    found = _pass("grad", outputs, grad_outputs, retain_graph, create_graph, inputs)
    for i, g in enumerate(found):
        if g is None and not allow_unused:
            error = GraphError(
                "One of the differentiated Tensors appears to not have been used in the graph. "
                f"It is input {i}; set allow_unused=True if this is the desired behavior.", "unused",
            )  # fmt: skip
            _tell("grad", error)
            raise error
        if g is not None and not isinstance(g, Tensor):
            found[i] = _as_view(np.asarray(g))
    return tuple(found)


def _listed(what: Any) -> list[Any]:
    return list(what) if isinstance(what, (list, tuple)) else [what]


def _tell(kind: str, error: BaseException) -> None:
    if state.listener is not None:
        state.listener.failed(kind, error)


def _pass(kind: str, roots: Any, given: Any, retain: Any, create: bool, inputs: Any) -> list[Any]:
    try:
        if kind == "backward" and inputs is not None and not _listed(inputs):
            raise GraphError("`inputs` argument to `backward()` cannot be empty.")
        chosen = _listed(roots)
        first = [None] * len(chosen) if given is None else _listed(given)
        grads = [_start(root, g, create) for root, g in zip(chosen, first, strict=True)]
        edges = [_root(i, root) for i, root in enumerate(chosen)]
        targets = None if inputs is None else [_target(kind, t) for t in _listed(inputs)]
        walk = Walk(kind, edges, create if retain is None else retain, create, targets)
    except BaseException as error:
        _tell(kind, error)
        raise
    listener, error_ = state.listener, None
    if listener is not None:
        listener.begin(walk)
    outer, state.walk = state.walk, walk
    try:
        with set_grad_enabled(create), np.errstate(all="ignore"):
            return walk.run(grads)
    except BaseException as raised:
        error_ = raised
        raise
    finally:
        state.walk = outer
        if listener is not None:
            listener.end(walk, error_)


def _start(root: Tensor, given: Any, create: bool) -> Any:
    if given is None and root.requires_grad:
        if root._a.size != 1:
            raise GraphError(
                f"grad can be implicitly created only for scalar outputs (got shape {list(root.shape)}): "
                "reduce it first (sum, mean) or pass `gradient`.", "not-scalar",
            )  # fmt: skip
        given = Tensor(np.ones_like(root._a))
    elif given is not None and not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None (got {type(given).__name__})")
    elif given is not None and given._a.shape != root._a.shape:
        raise GraphError(f"Mismatch in shape: a gradient of {list(given.shape)} for a root of {list(root.shape)}.")
    return given if create or given is None else given._a


def _root(position: int, root: Tensor) -> Edge:
    edge = edge_of(root)
    if edge is None:
        raise GraphError(
            f"element {position} of tensors does not require grad and does not have a grad_fn: it has no history, so "
            "nothing can flow back from it.", "no-grad",
        )  # fmt: skip
    return edge


def _target(kind: str, t: Tensor) -> Edge:
    if not t.requires_grad:
        raise GraphError("One of the differentiated Tensors does not require grad", "no-grad")
    if kind == "backward" and t.grad_fn is not None:
        t.retain_grad()  # type: ignore[attr-defined]
    # No pass reaches a view that was made under `no_grad`: it needs a gradient but has no node.
    return edge_of(t) or (Node("Identity", ()), 0)


def _as_view(array: Any) -> Tensor:
    """A gradient that shares memory is a view made where nothing is recorded, and behaves like one."""
    t = Tensor(array)
    if array.base is not None:
        t._base = Tensor(memory(array))
        t._c, t._made = t._base._c, UNRECORDED
    return t


class Walk(lifecycle.Walk[Node]):
    """One pass over nodes that compute."""

    def __init__(
        self, kind: str, roots: Sequence[Edge], retain: bool, create: bool, inputs: Sequence[Edge] | None
    ) -> None:
        super().__init__(kind, roots, retain, inputs)
        state.walks += 1
        self.number = state.walks
        self.create = create
        self.spot = here(2)

    def describe(self) -> str:
        return f"by pass {self.number}, {self.kind}() at {place(self.spot)}"

    def run(self, grads: Sequence[Any]) -> list[Any]:
        """Walks from the roots; returns what reached `inputs` of a `grad()`."""
        inputs, F = self.inputs or (), tensors if self.create else arrays
        captured = {node for node, _ in inputs} if self.kind == "grad" else set()
        out: list[Any] = [None] * len(inputs)
        buffers: dict[lifecycle.Node, list[Any]] = {}

        def deliver(node: Any, nr: int, gradient: Any) -> None:
            buffer = buffers.get(node)
            if buffer is None:
                buffer = buffers[node] = [None] * len(node.meta)
            if gradient is not None:
                buffer[nr] = gradient if buffer[nr] is None else F.add(buffer[nr], gradient)

        for (root, nr), gradient in zip(self.roots, grads, strict=True):
            deliver(root, nr, gradient)
        for node, needed in self.order():
            incoming = buffers.pop(node)
            if node.hooks is not None or node.retained is not None:
                incoming = [None if g is None else _hook(node, nr, g) for nr, g in enumerate(incoming)]
            if node in captured:
                for position, (one, nr) in enumerate(inputs):
                    if one is node:
                        out[position] = incoming[nr]
                if needed is None:
                    continue
            assert needed is not None
            outgoing = node.apply(incoming, needed, self)
            self.finish(node)
            for i, edge in enumerate(node.edges):
                if edge is not None and needed[i]:
                    gradient = outgoing[i]
                    deliver(*edge, None if gradient is None else _fit(gradient, edge, node, F))
        return out


def _fit(g: Any, edge: Any, node: Node, F: Any) -> Any:
    """Brings a gradient to the shape and type that its node expects."""
    shape, kind = edge[0].meta[edge[1]]
    array = g if F is arrays else g._a
    if array.shape != shape:
        lead = array.ndim - len(shape)
        if lead < 0 or any(b not in (a, 1) for a, b in zip(array.shape[lead:], shape, strict=True)):
            raise GraphError(
                f"Function {node.name()} returned an invalid gradient: got {list(array.shape)} but expected a shape "
                f"compatible with {list(shape)}", node=node,
            )  # fmt: skip
        g = sum_to(F, g, shape)
    return g if array.dtype == kind else F.to_copy(g, kind)


def _hook(node: Node, nr: int, g: Any) -> Any:
    """What the user's hooks make of a gradient; tensors that retain theirs get it."""
    t = g if isinstance(g, Tensor) else Tensor(np.asarray(g))
    for hook in list((node.hooks or {}).get(nr, {}).values()):
        found = hook(t)
        t = t if found is None else found
    held = (node.retained or {}).get(nr)
    owner = held() if held is not None else None
    if owner is not None:
        owner._grad = tensors.clone(t) if owner._grad is None else owner._grad + t
    return t if isinstance(g, Tensor) else t._a
