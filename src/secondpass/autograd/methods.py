# SPDX-License-Identifier: BSD-3-Clause
"""What can be done with a tensor: the functions, operators, passes, hooks, and leaving the graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .creation import ones, zeros
from .dtypes import ALIASES, ALL, device, dtype
from .functions import FUNCTIONS, expand, power, sizes, to
from .graph import GraphError
from .indexing import getitem, setitem
from .inplace import inplace
from .lifecycle import Version
from .ops import OPS
from .passes import backward
from .products import matmul, outer
from .random import default_generator
from .recording import row
from .recording import tensors as F
from .tensors import Tensor
from .thread_state import state

__all__ = ["Tensor"]


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.key = hooks, max(hooks, default=0) + 1
        hooks[self.key] = hook

    def remove(self) -> None:
        self.hooks.pop(self.key, None)


class Methods:
    """Copied into `Tensor` below, which cannot define them itself: operations make tensors."""

    # --- leaving the graph
    def _cut(self: Any, kind: str) -> None:
        if state.listener is not None and self.requires_grad:
            state.listener.cut(self, kind)

    def detach(self: Any) -> Tensor:
        self._cut("detach")
        out = Tensor(self._a)
        out._c = self._c
        return out

    def detach_(self: Any) -> Tensor:
        if self._base is not None:
            raise GraphError("Can't detach views in-place. Use detach() instead.")
        self._cut("detach")
        self._fn, self._nr, self._req = None, 0, False
        return self

    @property
    def data(self: Any) -> Tensor:
        self._cut("data")
        return Tensor(self._a)

    @data.setter
    def data(self: Any, value: Tensor) -> None:
        self._a = value._a

    def item(self: Any) -> Any:
        self._cut("item")
        if self._a.size != 1:
            raise RuntimeError(f"a Tensor with {self._a.size} elements cannot be converted to Scalar")
        return self._a.item()

    def numpy(self: Any, force: bool = False) -> Any:
        if self.requires_grad and not force:
            raise GraphError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        self._cut("numpy")
        return self._a

    # --- gradients
    def requires_grad_(self: Any, mode: bool = True) -> Tensor:
        if not mode or self.grad_fn is None:
            self.requires_grad = mode
        return self

    def retain_grad(self: Any) -> None:
        if not self.requires_grad:
            raise GraphError("can't retain_grad on Tensor that has requires_grad=False")
        fn = self.grad_fn
        if fn is not None and not self._retains:
            self._retains = True
            fn.retained = fn.retained or {}
            fn.retained[self._nr] = weakref.ref(self)

    def register_hook(self: Any, hook: Any) -> Handle:
        if not self.requires_grad:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        fn = self.grad_fn
        if fn is not None:
            fn.hooks = fn.hooks or {}
            return Handle(fn.hooks.setdefault(self._nr, {}), hook)
        self._hooks = self._hooks if self._hooks is not None else {}
        node = self._accumulator() if self._accumulator is not None else None
        if node is not None:
            node.hooks = {0: self._hooks}
        return Handle(self._hooks, hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Any) -> Handle:
        if not self.requires_grad or self.grad_fn is not None:
            raise GraphError("post accumulate grad hooks can only be registered on leaves that require gradients")
        self._after = self._after if self._after is not None else {}
        return Handle(self._after, hook)

    def backward(
        self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        backward(self, gradient, retain_graph, create_graph, inputs)

    # --- random numbers, types and layouts
    def uniform_(self: Any, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
        drawn = (generator or default_generator).uniform(self._a.shape, self._a.dtype)
        return self.copy_(Tensor(drawn * (high - low) + low))

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
        drawn = (generator or default_generator).normal(self._a.shape, self._a.dtype)
        return self.copy_(Tensor(drawn * std + mean))

    def to(self: Any, *how: Any, **named: Any) -> Tensor:
        wanted = self._a.dtype
        for h in (*how, *named.values()):
            if isinstance(h, Tensor):
                wanted = h._a.dtype
            elif isinstance(h, dtype):
                wanted = h.kind
            elif isinstance(h, str):
                device(h)
        return to(self, wanted)

    def as_strided(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
        return F.as_strided(
            self, tuple(size), tuple(stride), self.layout()[2] if storage_offset is None else storage_offset
        )

    # --- Python's own protocols
    def __bool__(self: Any) -> bool:
        if self._a.size != 1:
            raise RuntimeError(f"Boolean value of Tensor with {self._a.size} values is ambiguous")
        return bool(self._a.item())

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not self._a.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(F.unbind(self))

    def __repr__(self: Any) -> str:
        body = np.array2string(self._a, separator=", ", precision=4, prefix="tensor(", floatmode="maxprec_equal")
        kind = "" if self._a.dtype.name in ("float32", "int64", "bool") else f", dtype={self.dtype}"
        tail = ", requires_grad=True" if self.requires_grad else ""
        if self.grad_fn is not None:
            tail = f", grad_fn=<{self.grad_fn.name()}>"
        return f"tensor({body}{kind}{tail})"

    def __format__(self: Any, spec: str) -> str:
        return format(self._a.item(), spec) if self._a.ndim == 0 and spec else repr(self)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise GraphError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol")
        out = memo[id(self)] = self.__class__.__new__(self.__class__)
        out._a, out._c, out._req = self._a.copy(), Version(), self._req
        out._grad = None if self._grad is None else Tensor(self._grad._a.copy())
        return out


def _inplace(name: str) -> Callable[..., Any]:
    op = OPS[name]

    def run(t: Tensor, *args: Any, **params: Any) -> Tensor:
        return inplace(op, t, *args, **params)

    return run


def _as(kind: str) -> Callable[[Tensor], Tensor]:
    return lambda t: to(t, ALL[kind].kind)


CHANGES = (
    "abs add ceil clamp clamp_max clamp_min cos div exp floor lerp log masked_fill mul neg pow reciprocal relu round "
    "rsqrt sigmoid sign sin sqrt sub tanh zero"
).split()
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
    "gt": "gt", "ge": "ge", "neg": "neg", "abs": "abs", "and": "logical_and", "or": "logical_or",
    "invert": "logical_not", "radd": "add", "rmul": "mul", "rsub": "rsub", "mod": "remainder",
}  # fmt: skip
METHODS: dict[str, Any] = {
    **FUNCTIONS, **{f"{name}_": _inplace(name) for name in CHANGES},
    **{f"__{name}__": row(op) for name, op in OPERATORS.items()},
    **{f"__i{name}__": _inplace(OPERATORS.get(name, name)) for name in ("add", "sub", "mul", "truediv", "pow")},
    **{name: _as(kind) for name, kind in (*ALIASES.items(), ("bool", "bool"))},
    **{n: m for n, m in vars(Methods).items() if callable(m) or isinstance(m, property)},
    "copy_": lambda t, source, non_blocking=False: inplace(OPS["copy_"], t, source),
    "fill_": lambda t, value: inplace(OPS["fill_tensor" if isinstance(value, Tensor) else "fill"], t, value),
    "matmul": matmul, "__matmul__": matmul, "outer": outer, "__pow__": power, "__rpow__": lambda t, base: power(base, t),
    "__rtruediv__": lambda t, other: F.mul(F.reciprocal(t), other), "__getitem__": getitem, "__setitem__": setitem,
    "view": lambda t, *shape: F.view(t, sizes(shape)), "view_as": lambda t, other: F.view(t, other._a.shape),
    "expand": expand, "expand_as": lambda t, other: F.expand(t, other._a.shape),
    "contiguous": lambda t: t if t._a.flags.c_contiguous else F.contiguous(t),
    "where": lambda t, condition, other: F.where(condition, t, other), "cpu": lambda t: t,
    "new_zeros": lambda t, *size: zeros(*size, dtype=t.dtype), "new_ones": lambda t, *size: ones(*size, dtype=t.dtype),
    "tolist": lambda t: t._a.tolist(), "dim": lambda t: t._a.ndim, "nelement": lambda t: t._a.size,
    "size": lambda t, dim=None: t.shape if dim is None else t._a.shape[dim], "stride": lambda t: t.layout()[1],
    "is_contiguous": lambda t: bool(t._a.flags.c_contiguous), "is_floating_point": lambda t: t._a.dtype.kind == "f",
    "T": property(lambda t: F.permute(t, tuple(range(t._a.ndim))[::-1])), "ndim": property(lambda t: t._a.ndim),
    "mT": property(lambda t: F.transpose(t, -2, -1)), "device": property(lambda t: device("cpu")),
    "__float__": lambda t: float(t.item()), "__int__": lambda t: int(t.item()), "__index__": lambda t: int(t.item()),
    "__len__": lambda t: len(t._a), "__hash__": lambda t: id(t), "__array__": lambda t, dtype=None, copy=None: t.numpy(),
    # NumPy must not take an expression like `array * tensor` apart element by element.
    "__array_ufunc__": None,
}  # fmt: skip
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
