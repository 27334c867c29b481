# SPDX-License-Identifier: BSD-3-Clause
"""Operations as they run: compute the value, make the node, save what it needs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import default
from .graph import HOOKED, INPUT, Edge, GraphError, Node, Saved
from .lifecycle import Version
from .ops import OPS, Op, values
from .place import here
from .tensors import SEVERAL, UNRECORDED, Tensor, edge_of
from .thread_state import state

__all__ = ["OpNode", "apply", "arguments", "arrays", "as_pytorch", "edges_of", "number", "row", "tensors"]


class OpNode(Node):
    """A node made by a row of the op table. The parameters of the operation are attributes."""

    __slots__ = ("op", "params", "shapes")

    def __init__(self, op: Op, edges: Sequence[Edge | None], params: dict[str, Any], shapes: list[Any]) -> None:
        # Spelled out rather than left to the base class: this runs for every operation.
        self.name_ = op.node
        self.edges = edges
        self.number = state.number
        state.number += 1
        self.saved = ()
        self.freed_by = self.hooks = self.retained = None
        self.spot = here(3)
        self.op = op
        self.params = params
        self.shapes = shapes

    def save(self, inputs: Sequence[Tensor | None]) -> None:
        """Keeps the inputs the derivatives need."""
        kept: list[Saved] = []
        op = self.op
        for (at, out, guard), name in zip(op.plan, op.saves, strict=True):
            if guard >= 0 and self.edges[guard] is None:
                continue
            if at < 0:
                kept.append((name, out, None, None, 0, None))
            elif at == op.star:
                nothing: Saved = (name, INPUT, None, None, 0, None)
                kept.extend(nothing if t is None else (name, INPUT, t, t._c, t._c.count, None) for t in inputs[at:])
            elif (t := inputs[at]) is not None:
                kept.append((name, INPUT, t, t._c, t._c.count, t._fn is not None))
        self.saved = kept

    def save_outputs(self, outputs: Sequence[Tensor], changed_view: bool = False) -> None:
        """Keeps the outputs the derivatives need (their memory, not the tensors); then hooks may pack everything."""
        for i, entry in enumerate(self.saved):
            if entry[1] >= 0:
                t = outputs[entry[1]]
                fn = weakref.ref(t._fn) if changed_view and t._fn is not None else None
                self.saved[i] = (entry[0], entry[1], t._a, t._c, t._c.count, fn)  # type: ignore[index]
        if state.hooks:
            self.saved = [self._pack(entry, *state.hooks[-1]) for entry in self.saved]

    def _pack(self, entry: Saved, pack: Any, unpack: Any) -> Saved:
        t = self.unpack(entry, True)
        if t is None or t._wrapped:
            return entry
        needs = t._fn is None and t.requires_grad
        source = None if t._fn is self else (t._fn, t._nr, needs, t._accumulator)
        return entry[0], HOOKED, pack(t.detach()), None, entry[1], (unpack, source)

    def unpack(self, entry: Saved, create: bool) -> Any:
        """A buffer, as a tensor with its history (`create`) or as an array."""
        kind, kept, counter = entry[1], entry[2], entry[3]
        if self.freed_by is not None or (counter is not None and counter.count != entry[4]):
            self.check(entry)
        if kind == INPUT:
            if entry[5] and kept._fn is None and state.walk is not None:
                raise GraphError(
                    f"{self.name()} saved `{entry[0]}`, which has been detached in place since, with .detach_(). "
                    "Use .detach(), which leaves the tensor as it is.", "other", self, entry[0],
                )  # fmt: skip
            return kept if create or kept is None else kept._a
        if kind == HOOKED:
            unpack, source = entry[5]
            found = unpack(kept)
            kept, counter = found._a, found._c
        if not create:
            return kept
        t = Tensor(kept)
        t._c = counter if counter is not None else Version()
        if kind == HOOKED:
            t._fn, t._nr, t._req, t._accumulator = (self, entry[4], False, None) if source is None else source
        elif kind not in self.op.integral:
            t._fn, t._nr = self, kind
            if entry[5] is not None and entry[5]() is not None:
                t._fn, t._nr = entry[5](), 0
        return t

    def _unpack_all(self, create: bool) -> list[Any]:
        """All buffers, by the op's order; None for those that were not needed."""
        op = self.op
        found = [self.unpack(e, create) for e in self.saved]
        if op.star > 0 and op.saves:
            return [found]
        if len(found) == len(op.plan):
            return found
        by_name = dict(zip((e[0] for e in self.saved), found, strict=True))
        return [by_name.get(name) for name in op.saves]

    def apply(self, grads: list[Any], needed: Sequence[bool], walk: Any) -> Sequence[Any]:
        op, create = self.op, walk.create
        saved = self._unpack_all(create) if self.saved else [None] * len(op.plan)
        g: Any = grads if op.several else grads[0]
        if g is None or (op.several and all(one is None for one in grads)):
            return [None] * len(needed)
        F = tensors if create else arrays
        if op.whole is not None:
            return op.whole(F, g, self, *saved) if any(needed) else [None] * len(needed)
        return [
            f(F, g, self, *saved) if want and f is not None else None
            for f, want in zip(op.formulas, needed, strict=True)
        ]

    def __getattr__(self, name: str) -> Any:
        key = name.removeprefix("_saved_")
        if key in self.op.saves and key != name:
            found = [e for e in self.saved if e[0] == key]
            for entry in found:
                self.asked(entry[0])
            got = [self.unpack(e, True) for e in found]
            return tuple(got) if self.op.star > 0 else got[0] if got else None
        if key in self.params:
            return self.params[key]
        raise AttributeError(name)


def number(value: Any, among: Sequence[Any]) -> Tensor:
    """A Python number as a tensor of the type that PyTorch computes in."""
    kinds = [t._a.dtype for t in among if isinstance(t, Tensor)]
    kind = next((k for k in kinds if k.kind == "f"), None) or next((k for k in kinds if k.kind != "b"), None)
    if isinstance(value, bool):
        kind = kinds[0] if kinds and kind is None else kind
    elif isinstance(value, float):
        kind = kind if kind is not None and kind.kind == "f" else default.kind
    elif isinstance(value, (np.generic, np.ndarray)):
        kind = value.dtype if kind is None or isinstance(value, np.ndarray) else kind
    elif not isinstance(value, int):
        raise TypeError(f"unsupported operand: a tensor or a number was expected (got {type(value).__name__})")
    t = Tensor(np.array(value, kind if kind is not None else np.dtype(np.int64)))
    t._wrapped = True
    return t


def _result(op: Op, inputs: Sequence[Any], out: Any, node: OpNode | None, nr: int) -> Tensor:
    if out.__class__ is not np.ndarray:
        out = np.asarray(out)
    if not op.view and not out.flags.c_contiguous:
        out = _ordered(inputs, out)
    t = Tensor(out)
    if op.view:
        of = inputs[0]
        t._c = of._c
        t._base = base = of if of._base is None else of._base
        t._seen = t._c.count
        t._made = SEVERAL if op.several else of._made
        if not state.enabled and (base.requires_grad or not t._made):
            t._made = UNRECORDED
    if node is not None and nr not in op.integral:
        t._fn = node
        if nr:
            t._nr = nr
    return t


def _ordered(inputs: Sequence[Any], out: Any) -> Any:
    """Repeated dimensions say nothing about the order of a result: PyTorch falls back to rows, NumPy to columns."""
    given = [t._a for t in inputs if t is not None]
    if any(0 in a.strides for a in given) and all(0 in a.strides or a.flags.c_contiguous for a in given):
        return np.ascontiguousarray(out)
    return out


def edges_of(op: Op, inputs: Sequence[Any]) -> list[Edge | None] | None:
    """The edges of a new node; None where nothing needs a gradient."""
    # A list that gradients flow to is the only input; one that they do not flow to is the last.
    chosen = [inputs[i] for i in op.at] if op.at else inputs
    for t in chosen:
        if t is not None and (t._fn is not None or t._req or (t._base is not None and t.requires_grad)):
            return [None if t is None else edge_of(t) for t in chosen]
    return None


def arguments(op: Op, args: Sequence[Any], given: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """The inputs of a call, numbers among them as tensors, and its parameters by name."""
    if op.star < 0 and len(args) != len(op.inputs):
        names = op.inputs + op.params
        given = {**dict(zip(names, args, strict=False)), **given}
        if len(args) > len(names) or not given.keys() >= set(op.inputs):
            raise TypeError(f"{op.name}() takes {', '.join(names)} (got {len(args)} arguments)")
        args = [given.pop(n) for n in op.inputs]
    for a in args:
        if a is not None and not isinstance(a, Tensor):
            args = [x if x is None or isinstance(x, Tensor) else number(x, args) for x in args]
            break
    return args, {**op.defaults, **given} if given else op.defaults


def apply(op: Op, *args: Any, **given: Any) -> Any:
    """Runs an operation on tensors and records it."""
    inputs, params = arguments(op, args, given)
    plain: list[Any] = [None if t is None else t._a for t in inputs]
    try:
        out = op.value(*plain, **params)
    except (ValueError, IndexError) as error:
        if state.enabled:
            edges_of(op, inputs)  # a view that may not be used says so first
        raise as_pytorch(op, error) from None
    edges = edges_of(op, inputs) if state.enabled and op.formulas else None
    node = None
    if edges is not None:
        if op.notes is not None:
            params = {**params, **op.notes(*plain)}
        node = OpNode(op, edges, params, [() if a is None else a.shape for a in plain])
        if op.plan:
            node.save(inputs)
    elif state.listener is not None and state.walk is None and any(t is not None and t.requires_grad for t in inputs):
        state.listener.cut(inputs[0], "compare" if state.enabled else "no_grad")
    outs = [_result(op, inputs, one, node, i) for i, one in enumerate(out if op.several else (out,))]
    if node is not None:
        node.meta = [(t._a.shape, t._a.dtype) for t in outs]
        if op.plan:
            node.save_outputs(outs)
        if state.listener is not None:
            state.listener.node(node)
    return tuple(outs) if op.several else outs[0]


def as_pytorch(op: Op, error: Exception) -> Exception:
    """NumPy's complaint as the class that PyTorch raises: dimensions that are not there are an IndexError."""
    return (IndexError if isinstance(error, IndexError) else RuntimeError)(f"{op.name}: {error}")


def row(name: str) -> Callable[..., Any]:
    """A row of the table as a function."""
    op = OPS[name]

    def run(*args: Any, **params: Any) -> Any:
        return apply(op, *args, **params)

    return run


class _Tensors:
    """The table over recording tensors; `functions` adds what is not a row."""

    def __getattr__(self, name: str) -> Any:
        if name not in OPS:
            raise AttributeError(name)
        setattr(self, name, row(name))
        return self.__dict__[name]


arrays: Any = values
tensors: Any = _Tensors()
