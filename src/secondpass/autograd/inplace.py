# SPDX-License-Identifier: BSD-3-Clause
"""Changing tensors in place: what may be changed, and what becomes of history: see NOTE [ Views ] of `tensors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph import GraphError, Node
from .ops import OPS, Op
from .ops.shape import extent, layout, memory
from .recording import OpNode, arguments, arrays, as_pytorch, edges_of, tensors
from .tensors import Tensor, bump, edge_of
from .thread_state import state

__all__ = ["inplace", "set_history", "strided_node"]


class CopySlices(Node):
    """The history of a base after one of its views was changed in place."""

    __slots__ = ("base", "inner", "view")

    def __init__(self, base: Tensor, view: Tensor, inner: OpNode) -> None:
        super().__init__("torch::autograd::CopySlices", (edge_of(base), *inner.edges[1:]))
        self.base, self.view = layout(base._a), layout(view._a)
        self.inner: OpNode | None = inner
        self.meta = [(base._a.shape, base._a.dtype)]

    def apply(self, grads: list[Any], needed: Sequence[bool], walk: Any) -> Sequence[Any]:
        """Sends the view's part of the gradient through the operation, the rest straight on."""
        g = grads[0]
        if g is None:
            return [None] * len(needed)
        if self.inner is None:
            raise self.twice()
        F = tensors if walk.create else arrays
        (whole_size, whole_stride, start), (size, stride, offset) = self.base, self.view
        whole = F.copy_(F.empty_strided(g, whole_size, whole_stride), g)
        part = F.as_strided(whole, size, stride, offset - start)
        found = list(self.inner.apply([F.contiguous(part)], needed, walk))
        if needed[0]:
            if found[0] is not None:
                F.copy_(part, found[0])
            found[0] = whole
        return found

    def release(self, walk: Any) -> None:
        """Spends the operation inside: even one that saved nothing cannot be walked again."""
        if self.inner is not None:
            self.inner.release(walk)
            self.inner, self.freed_by = None, walk


def strided_node(view: Tensor, base: Tensor) -> Node:
    """The node of a view whose base has changed."""
    size, stride, offset = layout(view._a)
    params = {"size": size, "stride": stride, "offset": offset, "layout": layout(base._a)}
    node = OpNode(OPS["as_strided"], (edge_of(base),), params, [base._a.shape])
    node.meta = [(size, view._a.dtype)]
    if state.listener is not None:
        state.listener.node(node)
    return node


_ANYWHERE = ("index_put", "masked_fill", "zero", "fill")  # what may be written to memory that shows more than once


def inplace(op: Op, target: Tensor, *args: Any, **given: Any) -> Tensor:
    """Runs an operation on tensors and writes its value over the first of them."""
    inputs, params = arguments(op, (target, *args), given)
    edges = edges_of(op, inputs) if state.enabled and op.formulas else None
    node = None
    if edges is not None:
        _may_change(target)
        node = OpNode(op, edges, params, [() if t is None else t._a.shape for t in inputs])
        node.meta = [(target._a.shape, target._a.dtype)]
        before: Any = target
        if any(at == 0 and (guard < 0 or edges[guard] is not None) for at, _, guard in op.plan):
            before = target.clone()  # type: ignore[attr-defined]
        node.save([before, *inputs[1:]])
    if op.name not in _ANYWHERE and _repeated(target._a):
        raise GraphError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Clone it before the change.",
        )  # fmt: skip
    if op.name != "index_put" and any(t is not None and _overlap(target._a, t._a) for t in inputs[1:]):
        raise GraphError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Clone the tensor before the operation.",
        )  # fmt: skip
    _write(op, target._a, [None if t is None else t._a for t in inputs], params)
    bump(target, "[...] =" if op.name == "index_put" else op.name.rstrip("_") + "_")
    if node is not None:
        _rebase(target, node)
        if op.plan:
            node.save_outputs((target,), target._base is not None)
    return target


def _repeated(a: Any) -> bool:
    return a.size > 1 and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape, strict=True))


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays without gaps share some of their memory in different places."""
    if a is b or memory(a) is not memory(b):
        return False
    (p, q), (r, s) = (_span(x) for x in (a, b))
    if p == q or r == s:
        return False
    return _steps(a) != _steps(b) if (p, q) == (r, s) else p < s and r < q


def _steps(x: Any) -> list[int]:
    """The strides that are ever taken: a dimension of one is as good as none."""
    return [stride for stride, size in zip(x.strides, x.shape, strict=True) if size > 1]


def _span(x: Any) -> tuple[int, int]:
    size, stride, start = layout(x)
    return start, start + x.size if extent(size, stride) + 1 == x.size else start


def _write(op: Op, target: Any, plain: list[Any], params: dict[str, Any]) -> None:
    try:
        copies = op.name == "copy_"
        out = plain[1] if copies else op.value(*plain, **params)
        if out.dtype.kind == "f" and target.dtype.kind != "f" and not copies:
            raise RuntimeError(f"result type {out.dtype} can't be cast to the desired output type {target.dtype}")
        if out.ndim > target.ndim or (out.shape != target.shape and not copies):
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(out.shape)}"
            )
        target[...] = out
    except ValueError as error:
        raise as_pytorch(op, error) from None


def _may_change(target: Tensor) -> None:
    base = target._base
    if base is not None:
        target.refuse(indirect=False)
    of_leaf = base is not None and target.requires_grad and base.is_leaf
    if of_leaf or (target._req and target.grad_fn is None):
        raise GraphError(
            f"a {'view of a ' if of_leaf else ''}leaf Variable that requires grad is being used in an in-place "
            "operation. Change it under no_grad(), or a clone of it.", "leaf",
        )  # fmt: skip


def _rebase(target: Tensor, node: OpNode) -> None:
    """Gives a tensor that was changed its new history: see NOTE [ Views ] 2."""
    listener = state.listener
    if listener is not None:
        listener.node(node)
    base = target._base
    if base is None:
        set_history(target, node)
        return
    slices = CopySlices(base, target, node)
    set_history(base, slices)
    if listener is not None:
        listener.node(slices)
    target.grad_fn  # noqa: B018  its node is made anew now, while the numbers are in order


def set_history(t: Tensor, node: Node) -> None:
    """Puts a tensor behind another node; a gradient it wants to keep is kept there from now on."""
    old = t._fn
    if t._retains and old is not None and old.retained and t._nr in old.retained:
        node.retained = {0: old.retained.pop(t._nr)}
    t._fn, t._nr = node, 0
