# SPDX-License-Identifier: BSD-3-Clause
"""What can be done with a tensor: the functions, operators, passes, hooks, and leaving the graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .creation import ones, zeros
from .dtypes import ALIASES, ALL, device, dtype
from .functions import FUNCTIONS, expand, item, no_history, power, sizes, to
from .graph import GraphError
from .indexing import getitem, setitem
from .inplace import inplace
from .ops import OPS
from .passes import backward
from .products import matmul, outer
from .random import default_generator
from .recording import row
from .recording import tensors as F
from .state import state
from .tensors import Tensor

__all__ = ["Tensor"]


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.key = hooks, max(hooks, default=0) + 1
        hooks[self.key] = hook

    def remove(self) -> None:
        """Takes the hook away."""
        self.hooks.pop(self.key, None)


# --- leaving the graph
def _cut(t: Tensor, kind: str) -> None:
    if state.listener is not None and t.requires_grad:
        state.listener.cut(t, kind)


def _detach(t: Tensor) -> Tensor:
    _cut(t, "detach")
    out = Tensor(t._a)
    out._c = t._c
    return out


def _detach_(t: Tensor) -> Tensor:
    if t._base is not None:
        raise GraphError("Can't detach views in-place. Use detach() instead.", "other")
    _cut(t, "detach")
    t._fn, t._nr, t._req = None, 0, False
    return t


def _get_data(t: Tensor) -> Tensor:
    _cut(t, "data")
    return Tensor(t._a)


def _set_data(t: Tensor, value: Tensor) -> None:
    t._a = value._a


def _item(t: Tensor) -> Any:
    _cut(t, "item")
    return item(t)


def _numpy(t: Tensor, force: bool = False) -> Any:
    if not force:
        no_history(t, "numpy()")
    _cut(t, "numpy")
    return t._a


# --- gradients
def _requires_grad_(t: Tensor, mode: bool = True) -> Tensor:
    if not mode or t.grad_fn is None:
        t.requires_grad = mode
    return t


def _retain_grad(t: Tensor) -> None:
    if not t.requires_grad:
        raise GraphError("can't retain_grad on Tensor that has requires_grad=False", "other")
    fn = t.grad_fn
    if fn is not None and not t._retains:
        t._retains = True
        fn.retained = fn.retained or {}
        fn.retained[t._nr] = weakref.ref(t)


def _register_hook(t: Tensor, hook: Any) -> Handle:
    if not t.requires_grad:
        raise GraphError("cannot register a hook on a tensor that doesn't require gradient", "other")
    fn = t.grad_fn
    if fn is not None:
        fn.hooks = fn.hooks or {}
        return Handle(fn.hooks.setdefault(t._nr, {}), hook)
    t._hooks = t._hooks if t._hooks is not None else {}
    node = t._accumulator() if t._accumulator is not None else None
    if node is not None:
        node.hooks = {0: t._hooks}
    return Handle(t._hooks, hook)


def _after_accumulate(t: Tensor, hook: Any) -> Handle:
    if not t.requires_grad:
        raise GraphError("cannot register a hook on a tensor that doesn't require gradient", "other")
    if t.grad_fn is not None:
        raise GraphError("post accumulate grad hooks cannot be registered on non-leaf tensors", "other")
    t._after = t._after if t._after is not None else {}
    return Handle(t._after, hook)


def _backward(
    t: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    backward(t, gradient, retain_graph, create_graph, inputs)


# --- Python's own protocols
def _bool(t: Tensor) -> bool:
    if t._a.size != 1:
        raise RuntimeError(f"Boolean value of Tensor with {t._a.size} values is ambiguous")
    return bool(t._a.item())


def _iter(t: Tensor) -> Iterator[Tensor]:
    if not t._a.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(F.unbind(t))


def _repr(t: Tensor) -> str:
    body = np.array2string(t._a, separator=", ", precision=4, prefix="tensor(", floatmode="maxprec_equal")
    kind = "" if t._a.dtype.name in ("float32", "int64", "bool") else f", dtype={t.dtype}"
    tail = ", requires_grad=True" if t.requires_grad else ""
    if t.grad_fn is not None:
        tail = f", grad_fn=<{t.grad_fn.name()}>"
    return f"tensor({body}{kind}{tail})"


def _format(t: Tensor, spec: str) -> str:
    return format(t._a.item(), spec) if t._a.ndim == 0 and spec else repr(t)


def _deepcopy(t: Tensor, memo: dict[int, Any]) -> Tensor:
    if not t.is_leaf:
        raise GraphError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol", "other"
        )
    out = memo[id(t)] = t.__class__.__new__(t.__class__)
    out._a, out._c, out._req = t._a.copy(), [0], t._req
    out._grad = None if t._grad is None else Tensor(t._grad._a.copy())
    return out


# --- in place, and other types
def _inplace(name: str) -> Callable[..., Any]:
    op = OPS[name]

    def run(t: Tensor, *args: Any, **params: Any) -> Tensor:
        return inplace(op, t, *args, **params)

    return run


def _uniform_(t: Tensor, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Tensor:
    drawn = (generator or default_generator).uniform(t._a.shape, t._a.dtype)
    return inplace(OPS["copy_"], t, Tensor(drawn * (high - low) + low))


def _normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    drawn = (generator or default_generator).normal(t._a.shape, t._a.dtype)
    return inplace(OPS["copy_"], t, Tensor(drawn * std + mean))


def _as(kind: str) -> Callable[[Tensor], Tensor]:
    return lambda t: to(t, ALL[kind].kind)


def _to(t: Tensor, *how: Any, **named: Any) -> Tensor:
    wanted = t._a.dtype
    for h in (*how, *named.values()):
        if isinstance(h, Tensor):
            wanted = h._a.dtype
        elif isinstance(h, dtype):
            wanted = h.kind
        elif isinstance(h, str):
            device(h)
    return to(t, wanted)


def _as_strided(t: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return F.as_strided(
        t, tuple(size), tuple(stride), t.layout()[2] if storage_offset is None else storage_offset
    )  # fmt: skip


CHANGES = (
    "abs add ceil clamp clamp_max clamp_min cos div exp expm1 floor lerp log log1p masked_fill mul neg pow reciprocal "
    "relu round rsqrt sigmoid sign sin sqrt sub tanh zero"
).split()
OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
             "gt": "gt", "ge": "ge", "neg": "neg", "abs": "abs", "and": "logical_and", "or": "logical_or",
             "invert": "logical_not", "radd": "add", "rmul": "mul"}  # fmt: skip
METHODS: dict[str, Any] = {
    **FUNCTIONS, **{f"{name}_": _inplace(name) for name in CHANGES}, **{n: _as(k) for n, k in ALIASES.items()},
    **{f"__{name}__": row(op) for name, op in OPERATORS.items()},
    **{f"__i{n}__": _inplace(op) for n, op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"))},
    "copy_": lambda t, source, non_blocking=False: inplace(OPS["copy_"], t, source),
    "fill_": lambda t, value: inplace(OPS["fill_tensor" if isinstance(value, Tensor) else "fill"], t, value),
    "uniform_": _uniform_, "normal_": _normal_, "matmul": matmul, "outer": outer,
    "view": lambda t, *shape: F.view(t, sizes(shape)), "view_as": lambda t, other: F.view(t, other._a.shape),
    "expand": expand, "expand_as": lambda t, other: F.expand(t, other._a.shape), "as_strided": _as_strided,
    "contiguous": lambda t: t if t._a.flags.c_contiguous else F.contiguous(t),
    "where": lambda t, condition, other: F.where(condition, t, other), "to": _to, "cpu": lambda t: t,
    "bool": _as("bool"), "type_as": lambda t, other: to(t, other._a.dtype),
    "detach": _detach, "detach_": _detach_, "item": _item, "numpy": _numpy, "tolist": lambda t: t._a.tolist(),
    "requires_grad_": _requires_grad_, "retain_grad": _retain_grad, "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _after_accumulate, "backward": _backward,
    "dim": lambda t: t._a.ndim, "size": lambda t, dim=None: t.shape if dim is None else t._a.shape[dim],
    "stride": lambda t: t.layout()[1], "storage_offset": lambda t: t.layout()[2], "nelement": lambda t: t._a.size,
    "is_contiguous": lambda t: bool(t._a.flags.c_contiguous), "is_floating_point": lambda t: t._a.dtype.kind == "f",
    "new_zeros": lambda t, *size: zeros(*size, dtype=t.dtype),
    "new_ones": lambda t, *size: ones(*size, dtype=t.dtype),
    "T": property(lambda t: F.permute(t, tuple(range(t._a.ndim))[::-1])), "mT": property(lambda t: F.transpose(t, -2, -1)),
    "ndim": property(lambda t: t._a.ndim), "data": property(_get_data, _set_data),
    "device": property(lambda t: device("cpu")), "is_cuda": property(lambda t: False),
    "retains_grad": property(lambda t: t._retains and t.grad_fn is not None),
    "__rsub__": lambda t, other: F.rsub(t, other), "__rtruediv__": lambda t, other: F.mul(F.reciprocal(t), other),
    "__pow__": power, "__rpow__": lambda t, base: power(base, t), "__ipow__": _inplace("pow"),
    "__matmul__": matmul, "__getitem__": getitem, "__setitem__": setitem,
    "__bool__": _bool, "__float__": lambda t: float(_item(t)), "__int__": lambda t: int(_item(t)),
    "__index__": lambda t: int(_item(t)), "__len__": lambda t: len(t._a), "__iter__": _iter, "__repr__": _repr,
    "__format__": _format, "__hash__": lambda t: id(t), "__deepcopy__": _deepcopy,
    "__array__": lambda t, dtype=None, copy=None: _numpy(t),
    # NumPy must not take an expression like `array * tensor` apart element by element.
    "__array_ufunc__": None,
}  # fmt: skip
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
