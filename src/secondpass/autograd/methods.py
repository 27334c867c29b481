# SPDX-License-Identifier: BSD-3-Clause
"""What can be done with a tensor: the methods and operators, bound from the op table and from `functions`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import creation, functions, passes
from .dtypes import ALIASES, ALL, array_type, dtype
from .graph import GraphError
from .ops import OPS
from .recording import apply, inplace
from .recording import tensors as F
from .state import state
from .tensors import Tensor

__all__ = ["FUNCTIONS"]

UNARY = (
    "abs acos alias ceil cos erf exp expm1 floor isfinite isinf isnan log log1p logical_not neg reciprocal relu round "
    "rsqrt sgn sigmoid sign sin sqrt tanh"
).split()
BINARY = "add sub mul div eq ne lt le gt ge maximum minimum logical_and logical_or logical_xor mm bmm mv dot".split()


def _row(name: str) -> Callable[..., Any]:
    op = OPS[name]

    def run(*args: Any, **params: Any) -> Any:
        return apply(op, *args, **params)

    run.__name__ = run.__qualname__ = name
    return run


def _with_dim(name: str, default: Any = None) -> Callable[..., Any]:
    """An operation along a dimension that may be given by position."""
    run = getattr(F, name)

    def along(t: Tensor, dim: Any = default, *rest: Any, dtype: Any = None, **params: Any) -> Any:
        if isinstance(dim, list):
            dim = tuple(dim)
        if dtype is not None:
            t = functions.to(t, array_type(dtype))
        return run(t, *rest, dim=dim, **params)

    return along


def _clamp(t: Tensor, min: Any = None, max: Any = None) -> Tensor:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return F.clamp(t, min=min, max=max)  # type: ignore[no-any-return]


def _permute(t: Tensor, *dims: Any) -> Tensor:
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    return F.permute(t, dims=tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)  # type: ignore[no-any-return]


def _reshape(t: Tensor, *shape: Any) -> Tensor:
    return F.reshape(t, shape=functions._sizes(shape[0], shape[1:]))  # type: ignore[no-any-return]


def _t(t: Tensor) -> Tensor:
    if t._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {t._a.ndim}D")
    return F.t(t)  # type: ignore[no-any-return]


def _dims(t: Tensor, *dims: Any) -> Tensor:
    return F.flip(t, dims=tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)  # type: ignore[no-any-return]


def _rtruediv(t: Tensor, other: Any) -> Tensor:
    return F.mul(F.reciprocal(t), other)  # type: ignore[no-any-return]


def _rsub(t: Tensor, other: Any) -> Tensor:
    return F.rsub(t, value=other) if not isinstance(other, Tensor) else F.sub(other, t)  # type: ignore[no-any-return]


def _cat(parts: Any, dim: int = 0) -> Tensor:
    return functions.joined(parts, dim)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _row(name) for name in UNARY if name in OPS},
    **{name: _row(name) for name in BINARY},
    "sum": functions.reduced("sum"), "mean": functions.reduced("mean"), "prod": functions.reduced("prod"),
    "max": functions.extreme("max", "maximum"), "min": functions.extreme("min", "minimum"),
    "var": functions.spread("var"), "std": functions.spread("std"), "norm": functions.norm, "pow": functions.pow,
    "logsumexp": _with_dim("logsumexp"), "amax": _with_dim("amax", ()), "amin": _with_dim("amin", ()),
    "argmax": _with_dim("argmax"), "argmin": _with_dim("argmin"), "cumsum": _with_dim("cumsum"),
    "all": _with_dim("all"), "any": _with_dim("any"),
    "softmax": _with_dim("softmax"), "log_softmax": _with_dim("log_softmax"),
    "clamp": _clamp, "clip": _clamp, "clamp_min": lambda t, min: F.clamp_min(t, min=min),
    "clamp_max": lambda t, max: F.clamp_max(t, max=max), "square": lambda t: F.pow(t, exponent=2),
    "matmul": functions.matmul, "outer": functions.outer, "addmm": lambda c, a, b: F.addmm(c, a, b),
    "baddbmm": lambda c, a, b: F.baddbmm(c, a, b), "lerp": lambda a, b, weight: F.lerp(a, b, weight=weight),
    "reshape": _reshape, "flatten": functions.flatten, "squeeze": functions.squeeze, "unsqueeze": functions.unsqueeze,
    "transpose": functions.transpose, "swapaxes": functions.transpose, "t": _t, "permute": _permute,
    "split": functions.split, "chunk": functions.chunk, "unbind": functions.unbind, "flip": _dims,
    "narrow": functions.narrow,
    "select": lambda t, dim, index: F.select(t, dim=dim, index=index), "diagonal": _row("diagonal"),
    "roll": lambda t, shifts, dims=0: F.roll(t, shifts=(shifts,) if isinstance(shifts, int) else tuple(shifts),
                                             dims=(dims,) if isinstance(dims, int) else tuple(dims)),
    "tril": lambda t, diagonal=0: F.tril(t, diagonal=diagonal),
    "triu": lambda t, diagonal=0: F.triu(t, diagonal=diagonal), "clone": lambda t, **_: F.clone(t),
    "masked_fill": functions.masked_fill, "masked_select": _row("masked_select"),
    "gather": lambda t, dim, index: F.gather(t, index, dim=dim),
    "scatter": lambda t, dim, index, src: F.scatter(t, index, src, dim=dim) if isinstance(src, Tensor)
               else F.scatter_value(t, index, dim=dim, value=src),
    "scatter_add": lambda t, dim, index, src: F.scatter_add(t, index, src, dim=dim),
    "index_select": lambda t, dim, index: F.index_select(t, index, dim=dim),
    "index_add": lambda t, dim, index, source: F.index_add(t, index, source, dim=dim),
    "sort": lambda t, dim=-1, descending=False: functions.Pair(*F.sort(t, k=t._a.shape[dim] if t._a.ndim else 1, dim=dim % max(t._a.ndim, 1),
                                                                      largest=descending)),
    "topk": lambda t, k, dim=-1, largest=True, sorted=True: functions.Pair(*F.topk(t, k=k, dim=dim % t._a.ndim,
                                                                                   largest=largest)),
    "subtract": _row("sub"), "multiply": _row("mul"), "divide": _row("div"), "true_divide": _row("div"),
    "absolute": _row("abs"), "negative": _row("neg"),
    "numel": lambda t: t._a.size, "is_tensor": lambda t: isinstance(t, Tensor),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: bool(np.allclose(a._a, b._a, rtol, atol, equal_nan)),
    "equal": lambda a, b: bool(np.array_equal(a._a, b._a)),
    "detach": lambda t: t.detach(),
}  # fmt: skip
"""The functions that are methods too."""


# --- in place: the same rows, written over the first argument
def _inplace(name: str, *names: str) -> Callable[..., Any]:
    op = OPS[name]

    def run(t: Tensor, *args: Any, **params: Any) -> Tensor:
        params.update(zip(names, args, strict=False))
        return inplace(op, t, *args[len(names) :], **params)

    return run


INPLACE: dict[str, Callable[..., Any]] = {
    **{f"{n}_": _inplace(n) for n in "add sub mul div abs ceil exp expm1 floor log log1p neg reciprocal relu round rsqrt "
       "sigmoid sign sin cos sqrt tanh erf maximum".split()},
    "pow_": _inplace("pow", "exponent"), "clamp_": _inplace("clamp", "min", "max"), "zero_": _inplace("zero"),
    "clamp_min_": _inplace("clamp_min", "min"), "clamp_max_": _inplace("clamp_max", "max"),
    "copy_": lambda t, source, non_blocking=False: inplace(OPS["copy_"], t, source),
    "fill_": lambda t, value: inplace(OPS["fill_tensor"], t, value) if isinstance(value, Tensor)
             else inplace(OPS["fill"], t, value=value),
    "masked_fill_": lambda t, mask, value: inplace(OPS["masked_fill"], t, mask, value=value),
    "lerp_": lambda t, end, weight: inplace(OPS["lerp"], t, end, weight=weight),
    "index_add_": lambda t, dim, index, source: inplace(OPS["index_add"], t, index, source, dim=dim),
    "scatter_add_": lambda t, dim, index, src: inplace(OPS["scatter_add"], t, index, src, dim=dim),
    "index_copy_": lambda t, dim, index, source: inplace(OPS["index_put"], t, source, *[None] * dim, index),
    "index_put_": lambda t, indices, values, accumulate=False: inplace(OPS["index_put"], t, values, *indices,
                                                                      accumulate=accumulate),
}  # fmt: skip


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


def _backward(t: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:
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
            creation.device(h)
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
    tail = f", grad_fn=<{t.grad_fn.name()}>" if t.grad_fn is not None else ", requires_grad=True" if t.requires_grad else ""
    kind = "" if t._a.dtype.name in ("float32", "int64", "bool") else f", dtype={t.dtype}"
    return f"{'Parameter containing:' + chr(10) if type(t).__name__ == 'Parameter' else ''}tensor({body}{kind}{tail})"


def _iter(t: Tensor) -> Iterator[Tensor]:
    if not t._a.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(functions.unbind(t))


def _deepcopy(t: Tensor, memo: dict[int, Any]) -> Tensor:
    if not t.is_leaf:
        raise GraphError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol", "other")
    out = t.__class__.__new__(t.__class__)
    out._a, out._c, out._req = t._a.copy(), [0], t._req
    if t._grad is not None:
        out._grad = Tensor(t._grad._a.copy())
    memo[id(t)] = out
    return out


def _format(t: Tensor, spec: str) -> str:
    return format(t._a.item(), spec) if t._a.ndim == 0 and spec else repr(t)


def _drawn(draw: Callable[[Any, Tensor], Any]) -> Callable[..., Tensor]:
    """An in-place filling with random numbers."""

    def fill(t: Tensor, *args: float, generator: Any = None) -> Tensor:
        return inplace(OPS["copy_"], t, Tensor(draw(generator or creation.default_generator, t, *args)))  # type: ignore[call-arg]

    return fill


def _uniform(g: Any, t: Tensor, low: float = 0.0, high: float = 1.0) -> Any:
    return g.uniform(t._a.shape, t._a.dtype) * (high - low) + low


def _normal(g: Any, t: Tensor, mean: float = 0.0, std: float = 1.0) -> Any:
    return g.normal(t._a.shape, t._a.dtype) * std + mean


def _float(t: Tensor) -> float:
    return float(_item(t))


METHODS: dict[str, Any] = {
    **FUNCTIONS, **INPLACE, "view": functions.view, "expand": functions.expand, "contiguous": functions.contiguous,
    "expand_as": lambda t, other: functions.expand(t, other._a.shape), "view_as": lambda t, o: functions.view(t, o._a.shape),
    "reshape_as": lambda t, other: _reshape(t, other._a.shape), "repeat": lambda t, *n: F.repeat(t, sizes=functions._sizes(n[0], n[1:])),
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
    "new_zeros": lambda t, *s: creation.zeros(*s, dtype=t.dtype), "new_ones": lambda t, *s: creation.ones(*s, dtype=t.dtype),
    "new_tensor": lambda t, data: creation.tensor(data, t.dtype), "where": lambda t, c, o: F.where(c, t, o),
    "T": property(lambda t: F.permute(t, dims=tuple(range(t._a.ndim))[::-1])),
    "mT": property(lambda t: F.transpose(t, dim0=-2, dim1=-1)), "ndim": property(lambda t: t._a.ndim),
    "data": property(_get_data, _set_data), "device": property(lambda t: creation.CPU),
    "retains_grad": property(lambda t: t._retains and t.grad_fn is not None), "is_cuda": property(lambda t: False),
    "nbytes": property(lambda t: t._a.nbytes),
    **{name: (lambda t, _k=kind: functions.to(t, ALL[_k].kind)) for name, kind in (*ALIASES.items(), ("bool", "bool"))},
    "__add__": _row("add"), "__radd__": _row("add"), "__sub__": _row("sub"), "__rsub__": _rsub, "__mul__": _row("mul"),
    "__rmul__": _row("mul"), "__truediv__": _row("div"), "__rtruediv__": _rtruediv, "__pow__": functions.pow,
    "__rpow__": lambda t, base: functions.pow(base, t), "__matmul__": functions.matmul, "__neg__": _row("neg"),
    "__abs__": _row("abs"), "__eq__": _row("eq"), "__ne__": _row("ne"), "__lt__": _row("lt"), "__le__": _row("le"),
    "__gt__": _row("gt"), "__ge__": _row("ge"), "__and__": _row("logical_and"), "__or__": _row("logical_or"),
    "__invert__": _row("logical_not"), "__iadd__": INPLACE["add_"], "__isub__": INPLACE["sub_"],
    "__imul__": INPLACE["mul_"], "__itruediv__": INPLACE["div_"], "__ipow__": INPLACE["pow_"],
    "__getitem__": functions.getitem, "__setitem__": functions.setitem, "__bool__": _bool, "__float__": _float,
    "__int__": lambda t: int(_item(t)), "__index__": lambda t: int(_item(t)), "__len__": lambda t: len(t._a),
    "__iter__": _iter, "__repr__": _repr, "__format__": _format, "__hash__": lambda t: id(t), "__deepcopy__": _deepcopy,
    "__array__": lambda t, dtype=None, copy=None: _numpy(t),
}  # fmt: skip
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
# NumPy must not take an expression like `array * tensor` apart element by element.
Tensor.__array_ufunc__ = None  # type: ignore[attr-defined]
