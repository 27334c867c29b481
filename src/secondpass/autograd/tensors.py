# SPDX-License-Identifier: BSD-3-Clause
"""Tensors: memory, version, and their place in the graph. What can be done with them is in `methods`.

NOTE [ Views ]
1. A view shares its base's memory and version counter. A view of a view has the same base.
2. Changing a view in place changes the base's history: `CopySlices` on the base. The view's own node is then made anew
   (`AsStridedBackward0`) from the base when somebody asks for it.
3. The same happens to every view of a base whose version has moved since the view's node was made.
4. Outputs of functions that return several views, and views made under `no_grad`, refuse to be changed where it would
   be recorded, and refuse to be used after their base was changed.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np

from .dtypes import of
from .graph import LAST, Edge, GraphError, Node
from .lifecycle import Version
from .ops.shape import layout
from .place import here
from .thread_state import state

__all__ = ["AccumulateGrad", "Size", "Tensor", "bump", "edge_of"]

SEVERAL, UNRECORDED = "several", "no_grad"


class Size(tuple[int, ...]):
    """A shape."""

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Tensor:
    """An array that can be differentiated."""

    # Defaults live in the class: most tensors differ from them in two or three fields only.
    _a: Any  # the array
    _c: Version
    _fn: Node | None = None
    _nr: int = 0
    _req: bool = False
    _base: Tensor | None = None
    _seen: int = 0  # the version at which the node of a view was made
    _made: str = ""  # how a view was made, where that matters
    _accumulator: Any = None
    _hooks: dict[int, Any] | None = None
    _after: dict[int, Any] | None = None
    _retains: bool = False
    _grad: Tensor | None = None
    _wrapped: bool = False  # a Python number: hooks on what is saved do not see it
    _number: int = 0  # a leaf's number in a trace: below zero once it has one

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        self._a = array
        self._c = Version()
        if requires_grad:
            self.requires_grad = True

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it; None for leaves."""
        base = self._base
        if base is None:
            return self._fn
        if self._fn is None and not base.requires_grad:
            return None
        if self._seen != self._c.count:
            self.refuse(indirect=True)
            from .inplace import set_history, strided_node

            set_history(self, strided_node(self, base))
            self._seen = self._c.count
        return self._fn

    def refuse(self, indirect: bool) -> None:
        """Raises where a view may not be changed: see NOTE [ Views ] 4."""
        if not self._made:
            return
        how = "its base or another view of its base was" if indirect else "is being"
        why = "It was created in no_grad mode: what it should do to the gradient is not known."
        if self._made == SEVERAL:
            why = "This view is the output of a function that returns several views, which may not be changed in place."
        what = f"Output {self._nr} of {self._fn.name()}" if self._fn is not None else "A view"
        raise GraphError(f"{what} is a view and {how} modified in place. {why} Clone it before the change.")

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._req or self._fn is not None or (self._base is not None and self._base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self.grad_fn is not None:
            raise GraphError("you can only change requires_grad flags of leaf variables; use detach() instead.")
        if value and self._a.dtype.kind != "f":
            raise GraphError(f"only Tensors of floating point dtype can require gradients (got {self.dtype})")
        self._req = bool(value)

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self.grad_fn is None

    @property
    def _version(self) -> int:
        return self._c.count

    @property
    def grad(self) -> Tensor | None:
        """The gradient that passes have accumulated."""
        if self._grad is None and not self._retains and self._fn is not None:
            warnings.warn("the .grad of a tensor that is no leaf is not kept: use retain_grad()", stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
        if value is not None and (value.shape != self.shape or value.dtype != self.dtype):
            raise RuntimeError(f"assigned grad is {value.dtype} {value.shape}, expected {self.dtype} {self.shape}")
        self._grad = value

    @property
    def shape(self) -> Size:
        return Size(self._a.shape)

    @property
    def dtype(self) -> Any:
        return of(self._a.dtype)

    def layout(self) -> Any:
        """Shape, strides and offset in elements."""
        return layout(self._a)


class AccumulateGrad(Node):
    """The end of history at a leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__("torch::autograd::AccumulateGrad", (), LAST)
        self.variable = variable
        self.meta = [(variable._a.shape, variable._a.dtype)]
        self.hooks = {0: variable._hooks} if variable._hooks is not None else None

    def apply(self, grads: list[Any], needed: Any, walk: Any) -> tuple[()]:
        new, leaf = grads[0], self.variable
        if new is None or not leaf.requires_grad:
            return ()
        if walk.create:
            leaf._grad = _laid_out(new, leaf) if leaf._grad is None else leaf._grad + new
        elif leaf._grad is None:
            leaf._grad = Tensor(np.array(new))
        else:
            leaf._grad._a += new
            bump(leaf._grad)
        for hook in (leaf._after or {}).values():
            hook(leaf)
        return ()


def _laid_out(new: Tensor, leaf: Tensor) -> Tensor:
    """A gradient with history, copied into the layout of its leaf."""
    from .recording import tensors as F

    return F.copy_(F.empty_strided(new, leaf._a.shape, leaf.layout()[1]), new)


def edge_of(t: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes."""
    fn = t._fn if t._base is None else t.grad_fn
    if fn is not None:
        return fn, t._nr
    if not t._req:
        return None
    found = t._accumulator() if t._accumulator is not None else None
    if found is None:
        found = AccumulateGrad(t)
        t._accumulator = weakref.ref(found)
    return found, 0


def bump(t: Tensor, how: str = "") -> None:
    """Notes that the memory of a tensor has changed; `how` is given where the user asked for it."""
    t._c.move(here(2))
    if how and state.listener is not None:
        state.listener.write(t, how)
