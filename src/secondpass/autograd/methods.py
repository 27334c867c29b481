# SPDX-License-Identifier: BSD-3-Clause
"""What can be done with a tensor: everything in `api`, operators, passes, hooks, and leaving the graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import creation, functions, indexing, passes, products
from .api import FUNCTIONS, INPLACE, row
from .dtypes import ALIASES, ALL, device, dtype
from .graph import GraphError
from .inplace import inplace
from .namespaces import tensors as F
from .ops import OPS
from .random import default_generator
from .state import state
from .tensors import Tensor

__all__ = ["METHODS"]


def _rtruediv(t: Tensor, other: Any) -> Tensor:
    return F.mul(F.reciprocal(t), other)


def _rsub(t: Tensor, other: Any) -> Tensor:
    return F.rsub(t, value=other) if not isinstance(other, Tensor) else F.sub(other, t)


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.key = hooks, max(hooks, default=0) + 1
        hooks[self.key] = hook

    def remove(self) -> None:
        """Takes the hook away."""
        self.hooks.pop(self.key, None)


# --- the rest of the class
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


def _requires_grad_(t: Tensor, mode: bool = True) -> Tensor:
    if mode and t.grad_fn is not None:
        return t
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
    passes.backward(t, gradient, retain_graph, create_graph, inputs)


def _item(t: Tensor) -> Any:
    _cut(t, "item")
    return functions.item(t)


def _numpy(t: Tensor, force: bool = False) -> Any:
    if not force:
        functions.no_history(t, "numpy()")
    _cut(t, "numpy")
    return t._a


def _to(t: Tensor, *how: Any, **named: Any) -> Tensor:
    kind = next((h for h in (*how, named.get("dtype")) if isinstance(h, dtype)), None)
    other = next((h for h in how if isinstance(h, Tensor)), None)
    for h in (*how, named.get("device")):
        if isinstance(h, str):
            device(h)
    wanted = other._a.dtype if other is not None else kind.kind if kind is not None else t._a.dtype
    return functions.to(t, wanted)


def _get_data(t: Tensor) -> Tensor:
    _cut(t, "data")
    return Tensor(t._a)


def _set_data(t: Tensor, value: Tensor) -> None:
    t._a = value._a


def _bool(t: Tensor) -> bool:
    if t._a.size != 1:
        raise RuntimeError(f"Boolean value of Tensor with {t._a.size} values is ambiguous")
    return bool(t._a.item())


def _repr(t: Tensor) -> str:
    body = np.array2string(t._a, separator=", ", precision=4, prefix="tensor(", floatmode="maxprec_equal")
    tail = (
        f", grad_fn=<{t.grad_fn.name()}>"
        if t.grad_fn is not None
        else ", requires_grad=True"
        if t.requires_grad
        else ""
    )
    kind = "" if t._a.dtype.name in ("float32", "int64", "bool") else f", dtype={t.dtype}"
    return f"{'Parameter containing:' + chr(10) if type(t).__name__ == 'Parameter' else ''}tensor({body}{kind}{tail})"


def _iter(t: Tensor) -> Iterator[Tensor]:
    if not t._a.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(functions.unbind(t))


def _deepcopy(t: Tensor, memo: dict[int, Any]) -> Tensor:
    if not t.is_leaf:
        raise GraphError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol", "other"
        )
    out = t.__class__.__new__(t.__class__)
    out._a, out._c, out._req = t._a.copy(), [0], t._req
    if t._grad is not None:
        out._grad = Tensor(t._grad._a.copy())
    memo[id(t)] = out
    return out


def _format(t: Tensor, spec: str) -> str:
    return format(t._a.item(), spec) if t._a.ndim == 0 and spec else repr(t)


def _drawn(draw: Callable[..., Any]) -> Callable[..., Tensor]:
    """An in-place filling with random numbers."""

    def fill(t: Tensor, *args: float, generator: Any = None) -> Tensor:
        return inplace(OPS["copy_"], t, Tensor(draw(generator or default_generator, t, *args)))

    return fill


def _uniform(g: Any, t: Tensor, low: float = 0.0, high: float = 1.0) -> Any:
    return g.uniform(t._a.shape, t._a.dtype) * (high - low) + low


def _normal(g: Any, t: Tensor, mean: float = 0.0, std: float = 1.0) -> Any:
    return g.normal(t._a.shape, t._a.dtype) * std + mean


def _float(t: Tensor) -> float:
    return float(_item(t))


METHODS: dict[str, Any] = {
    **FUNCTIONS, **INPLACE, "view": functions.view, "expand": functions.expand, "contiguous": functions.contiguous,
    "expand_as": lambda t, other: functions.expand(t, other._a.shape),
    "view_as": lambda t, other: functions.view(t, other._a.shape),
    "reshape_as": lambda t, other: FUNCTIONS["reshape"](t, other._a.shape),
    "repeat": lambda t, *n: F.repeat(t, sizes=functions.sizes(n[0], n[1:])),
    "type_as": lambda t, o: functions.to(t, o._a.dtype), "detach": _detach, "detach_": _detach_,
    "requires_grad_": _requires_grad_, "retain_grad": _retain_grad, "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _after_accumulate, "backward": _backward, "item": _item, "numpy": _numpy,
    "to": _to, "cpu": lambda t: t, "tolist": lambda t: t._a.tolist(), "dim": lambda t: t._a.ndim,
    "size": lambda t, dim=None: t.shape if dim is None else t._a.shape[dim], "nelement": lambda t: t._a.size,
    "stride": lambda t, dim=None: t.layout()[1] if dim is None else t.layout()[1][dim],
    "storage_offset": lambda t: t.layout()[2], "is_contiguous": lambda t: bool(t._a.flags.c_contiguous),
    "data_ptr": lambda t: t._a.__array_interface__["data"][0], "element_size": lambda t: t._a.itemsize,
    "as_strided": lambda t, size, stride, storage_offset=None: F.as_strided(
        t, size=tuple(size), stride=tuple(stride), offset=t.layout()[2] if storage_offset is None else storage_offset),
    "is_floating_point": lambda t: t._a.dtype.kind == "f", "uniform_": _drawn(_uniform), "normal_": _drawn(_normal),
    "new_zeros": lambda t, *s: creation.zeros(*s, dtype=t.dtype),
    "new_ones": lambda t, *s: creation.ones(*s, dtype=t.dtype),
    "new_tensor": lambda t, data: creation.tensor(data, t.dtype), "where": lambda t, c, o: F.where(c, t, o),
    "T": property(lambda t: F.permute(t, dims=tuple(range(t._a.ndim))[::-1])),
    "mT": property(lambda t: F.transpose(t, dim0=-2, dim1=-1)), "ndim": property(lambda t: t._a.ndim),
    "data": property(_get_data, _set_data), "device": property(lambda t: creation.CPU),
    "retains_grad": property(lambda t: t._retains and t.grad_fn is not None), "is_cuda": property(lambda t: False),
    "nbytes": property(lambda t: t._a.nbytes),
    **{name: (lambda t, _k=kind: functions.to(t, ALL[_k].kind)) for name, kind in (*ALIASES.items(), ("bool", "bool"))},
    "__add__": row("add"), "__radd__": row("add"), "__sub__": row("sub"), "__rsub__": _rsub, "__mul__": row("mul"),
    "__rmul__": row("mul"), "__truediv__": row("div"), "__rtruediv__": _rtruediv, "__pow__": functions.pow,
    "__mod__": functions.remainder,
    "__rpow__": lambda t, base: functions.pow(base, t), "__matmul__": products.matmul, "__neg__": row("neg"),
    "__abs__": row("abs"), "__eq__": row("eq"), "__ne__": row("ne"), "__lt__": row("lt"), "__le__": row("le"),
    "__gt__": row("gt"), "__ge__": row("ge"), "__and__": row("logical_and"), "__or__": row("logical_or"),
    "__invert__": row("logical_not"), "__iadd__": INPLACE["add_"], "__isub__": INPLACE["sub_"],
    "__imul__": INPLACE["mul_"], "__itruediv__": INPLACE["div_"], "__ipow__": INPLACE["pow_"],
    "__getitem__": indexing.getitem, "__setitem__": indexing.setitem, "__bool__": _bool, "__float__": _float,
    "__int__": lambda t: int(_item(t)), "__index__": lambda t: int(_item(t)), "__len__": lambda t: len(t._a),
    "__iter__": _iter, "__repr__": _repr, "__format__": _format, "__hash__": lambda t: id(t), "__deepcopy__": _deepcopy,
    "__array__": lambda t, dtype=None, copy=None: _numpy(t),
}  # fmt: skip
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
# NumPy must not take an expression like `array * tensor` apart element by element.
Tensor.__array_ufunc__ = None  # type: ignore[attr-defined]
