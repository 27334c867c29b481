# SPDX-License-Identifier: BSD-3-Clause
"""Functions that choose among rows of the op table, or are several of them, as PyTorch composes them."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np

from .graph import GraphError
from .ops import OPS
from .recording import apply, cat, inplace, reshape
from .recording import tensors as F
from .tensors import Tensor

__all__ = ["chunk", "einsum", "flatten", "matmul", "pow", "split", "stack", "where"]

Pair = namedtuple("Pair", "values indices")


def _axis(dim: int, ndim: int) -> int:
    room = max(ndim, 1)
    if not -room <= dim < room:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})")
    return dim % room


def reduced(name: str) -> Any:
    """sum, mean, prod: over everything, or over some dimensions."""

    def run(t: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        if name == "mean" and t._a.dtype.kind != "f":
            raise RuntimeError(f"mean(): could not infer output dtype. Input dtype must be floating point (got {t.dtype})")
        if dtype is not None:
            t = t.to(dtype)  # type: ignore[attr-defined]
        if dim is None:
            return getattr(F, name)(t)  # type: ignore[no-any-return]
        dims = tuple(dim) if isinstance(dim, (tuple, list)) else dim
        chosen = [_axis(d, t._a.ndim) for d in (dims if isinstance(dims, tuple) else (dims,))]
        if len(set(chosen)) < len(chosen):
            raise RuntimeError(f"dim {max(chosen, key=chosen.count)} appears multiple times in the list of dims")
        return getattr(F, f"{name}_dim")(t, dim=dims, keepdim=keepdim)  # type: ignore[no-any-return]

    return run


def extreme(name: str, pairwise: str) -> Any:
    """max, min: of everything, along a dimension, or of two tensors."""

    def run(t: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return getattr(F, pairwise)(t, dim if other is None else other)
        if dim is None:
            return getattr(F, name)(t)
        return Pair(*getattr(F, f"{name}_dim")(t, dim=_axis(dim, t._a.ndim), keepdim=keepdim))

    return run


def spread(name: str) -> Any:
    """var, std."""

    def run(t: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, correction: Any = 1) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        how = {} if dim is None else {"dim": tuple(dim) if isinstance(dim, (tuple, list)) else dim, "keepdim": keepdim}
        return getattr(F, name)(t, correction=correction, **how)

    return run


def norm(t: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The 1- or 2-norm."""
    if p not in (1, 2, "fro"):
        raise RuntimeError(f"only the 1- and 2-norm are supported (got p={p!r})")
    how = {} if dim is None else {"dim": tuple(dim) if isinstance(dim, (tuple, list)) else dim, "keepdim": keepdim}
    return F.vector_norm(t, p=1 if p == 1 else 2, **how)  # type: ignore[no-any-return]


def pow(t: Any, exponent: Any) -> Tensor:
    """t ** exponent, either of which may be a number."""
    if not isinstance(t, Tensor):
        return F.rpow(exponent, base=t)  # type: ignore[no-any-return]
    return F.pow_tensor(t, exponent) if isinstance(exponent, Tensor) else F.pow(t, exponent=exponent)  # type: ignore[no-any-return]


def _sizes(shape: Any, args: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape, *args)


def view(t: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape."""
    return F.view(t, shape=_sizes(shape[0], shape[1:]))  # type: ignore[no-any-return]


def flatten(t: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Several dimensions as one."""
    if not t._a.ndim:
        return reshape(t, (1,))
    a, b = _axis(start_dim, t._a.ndim), _axis(end_dim, t._a.ndim)
    shape = t._a.shape
    return t if a == b else reshape(t, (*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]))


def expand(t: Tensor, *shape: Any) -> Tensor:
    """A view in which dimensions of size 1 are repeated."""
    want = _sizes(shape[0], shape[1:])
    lead = len(want) - t._a.ndim
    return F.expand(t, shape=tuple(t._a.shape[i - lead] if s == -1 else s for i, s in enumerate(want)))  # type: ignore[no-any-return]


def squeeze(t: Tensor, dim: int | None = None) -> Tensor:
    """Without the dimensions of size 1."""
    return F.squeeze(t) if dim is None else F.squeeze_dim(t, dim=_axis(dim, t._a.ndim))  # type: ignore[no-any-return]


def unsqueeze(t: Tensor, dim: int) -> Tensor:
    """With one more dimension of size 1."""
    return F.unsqueeze(t, dim=_axis(dim, t._a.ndim + 1))  # type: ignore[no-any-return]


def transpose(t: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return F.transpose(t, dim0=_axis(dim0, t._a.ndim), dim1=_axis(dim1, t._a.ndim))  # type: ignore[no-any-return]


def split(t: Tensor, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a size, or of given sizes, as views."""
    if not t._a.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = _axis(dim, t._a.ndim)
    if not isinstance(size, int):
        return F.split_with_sizes(t, sizes=tuple(size), dim=d)  # type: ignore[no-any-return]
    length = t._a.shape[d]
    return F.split(t, sizes=tuple(min(size, length - i) for i in range(0, length, size)), dim=d)  # type: ignore[no-any-return]


def chunk(t: Tensor, chunks: int, dim: int = 0, unsafe: bool = False) -> tuple[Tensor, ...]:
    """So many parts, the last one perhaps smaller."""
    if not t._a.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = _axis(dim, t._a.ndim)
    size = -(-t._a.shape[d] // chunks)
    if unsafe:
        return F.unsafe_split(t, sizes=(size,) * (t._a.shape[d] // size), dim=d)  # type: ignore[no-any-return]
    return split(t, size, d)


def unbind(t: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension."""
    if not t._a.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return F.unbind(t, dim=_axis(dim, t._a.ndim))  # type: ignore[no-any-return]


def joined(parts: Any, dim: int = 0) -> Tensor:
    """Tensors one after the other."""
    many = list(parts)
    return cat(many, _axis(dim, many[0]._a.ndim))


def stack(parts: Any, dim: int = 0) -> Tensor:
    """Tensors side by side in a new dimension."""
    many = list(parts)
    return F.stack(*many, dim=_axis(dim, many[0]._a.ndim + 1))  # type: ignore[no-any-return]


def where(condition: Tensor, a: Any = None, b: Any = None) -> Any:
    """a where the condition holds, else b."""
    return tuple(Tensor(i) for i in np.nonzero(condition._a)) if a is None else F.where(condition, a, b)


def masked_fill(t: Tensor, mask: Tensor, value: Any) -> Tensor:
    """The value where the mask holds, else t."""
    if isinstance(value, Tensor):
        return F.masked_fill_tensor(t, mask, value)  # type: ignore[no-any-return]
    return F.masked_fill(t, mask, value=value)  # type: ignore[no-any-return]


def contiguous(t: Tensor) -> Tensor:
    """The tensor itself where its memory is in order, else a copy."""
    return t if t._a.flags.c_contiguous else F.contiguous(t)  # type: ignore[no-any-return]


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Vectors, matrices and batches of them, folded as PyTorch folds them."""
    p, q = a._a.ndim, b._a.ndim
    if not p or not q:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {p}D and {q}D")
    if a._a.shape[-1] != b._a.shape[-2 if q > 1 else -1]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({list(a.shape)} and {list(b.shape)})")
    if a._a.dtype != b._a.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if p <= 2 and q <= 2:
        if p == 2 and q == 2:
            return F.mm(a, b)  # type: ignore[no-any-return]
        if p == 1 and q == 1:
            return F.dot(a, b)  # type: ignore[no-any-return]
        return F.mv(a, b) if p == 2 else F.squeeze_(F.mm(F.unsqueeze(a, dim=0), b), dim=0)  # type: ignore[no-any-return]
    if p >= 3 and q <= 2:
        return _folded(a, b)
    if q >= 3 and p <= 2:
        turned = F.transpose(b, dim0=-1, dim1=-2)
        if p == 1:
            return _folded(turned, a)
        return contiguous(F.transpose(_folded(turned, F.t(a)), dim0=-1, dim1=-2))
    batch = np.broadcast_shapes(a._a.shape[:-2], b._a.shape[:-2])
    rows, inner, columns = a._a.shape[-2], a._a.shape[-1], b._a.shape[-1]
    left = reshape(F.expand(a, shape=(*batch, rows, inner)), (-1, rows, inner))
    right = reshape(F.expand(b, shape=(*batch, inner, columns)), (-1, inner, columns))
    return F.unsafe_view(F.bmm(left, right), shape=(*batch, rows, columns))  # type: ignore[no-any-return]


def _folded(a: Tensor, b: Tensor) -> Tensor:
    lead, flat = a._a.shape[:-1], reshape(a, (-1, a._a.shape[-1]))
    if b._a.ndim == 1:
        return F.unsafe_view(F.mv(flat, b), shape=lead)  # type: ignore[no-any-return]
    return F.unsafe_view(F.mm(flat, b), shape=(*lead, b._a.shape[1]))  # type: ignore[no-any-return]


def outer(a: Tensor, b: Tensor) -> Tensor:
    """The product of every pair of elements."""
    if a._a.ndim != 1 or b._a.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {a._a.ndim}-D and {b._a.ndim}-D")
    return F.mul(reshape(a, (a._a.shape[0], 1)), b)  # type: ignore[no-any-return]


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products in Einstein's notation, for one or two operands with an explicit or implied result."""
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(given) or "." in equation:
        raise RuntimeError(f"einsum(): the equation {equation!r} does not fit {len(given)} operands")
    if not arrow:
        letters = "".join(terms)
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    while len(given) > 2:
        rest = set(out) | set("".join(terms[2:]))
        kept = "".join(dict.fromkeys(c for c in terms[0] + terms[1] if c in rest))
        given = [einsum(f"{terms[0]},{terms[1]}->{kept}", given[0], given[1]), *given[2:]]
        terms = [kept, *terms[2:]]
    sizes = {c: n for term, t in zip(terms, given, strict=True) for c, n in zip(term, t._a.shape, strict=True)}
    if len(given) == 1:
        return _arrange(given[0], terms[0], out)
    a, b = terms
    shared = [c for c in a if c in b]
    batch, inner = [c for c in shared if c in out], [c for c in shared if c not in out]
    mine, other = [c for c in a if c not in b and c in out], [c for c in b if c not in a and c in out]

    def block(t: Tensor, term: str, first: list[str], second: list[str]) -> Tensor:
        count = [math.prod(sizes[c] for c in group) for group in (batch, first, second)]
        return reshape(_arrange(t, term, "".join(batch + first + second)), tuple(count))

    product = F.bmm(block(given[0], a, mine, inner), block(given[1], b, inner, other))
    order = "".join(batch + mine + other)
    return _arrange(reshape(product, tuple(sizes[c] for c in order)), order, out)


def _arrange(t: Tensor, term: str, out: str) -> Tensor:
    gone = [c for c in term if c not in out]
    order = [term.index(c) for c in out] + [term.index(c) for c in gone]
    t = F.permute(t, dims=tuple(order)) if order else t
    return F.sum_dim(t, dim=tuple(range(len(out), len(term)))) if gone else t  # type: ignore[no-any-return]


# --- indexing
def _parts(t: Tensor, key: Any, writing: bool) -> tuple[Tensor, list[Any]]:
    """Takes what plain numbers and slices choose as views; returns the tensors that remain to index with."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [Tensor(np.asarray(k)) if isinstance(k, (list, np.ndarray)) else k for k in keys]
    used = sum(k._a.ndim if isinstance(k, Tensor) and k._a.dtype.kind == "b" else k not in (None, ...)
               if not isinstance(k, Tensor) else 1 for k in keys if not isinstance(k, bool))  # fmt: skip
    if used > t._a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t._a.ndim}")
    out, dim, found = t, 0, []
    for k in keys:
        if k is None or isinstance(k, bool):
            out, dim = F.unsqueeze(out, dim=dim), dim + 1
        elif k is ...:
            dim += t._a.ndim - used
        elif isinstance(k, slice):
            start, stop, step = k.indices(out._a.shape[dim])
            if step <= 0:
                raise ValueError("step must be greater than zero")
            if not isinstance(key, slice) or writing:
                full = start == 0 and stop == out._a.shape[dim] and step == 1
            else:
                full = False
            out = out if full else F.slice(out, dim=dim, start=start, stop=max(stop, start), step=step)
            dim += 1
        elif isinstance(k, Tensor) and not k._a.ndim and k._a.dtype.kind == "b":
            out = F.unsqueeze(out, dim=dim)
            found += [None] * (dim - len(found)) + [Tensor(np.zeros(int(k._a), np.int64))]
            dim += 1
        elif isinstance(k, Tensor) and (k._a.ndim or k._a.dtype.kind == "b"):
            found += [None] * (dim - len(found)) + [k]
            dim += k._a.ndim if k._a.dtype.kind == "b" else 1
        else:
            out = F.select(out, dim=dim, index=int(k))
    return out, found


def narrow(t: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A part of a dimension."""
    if not t._a.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size = t._a.shape[_axis(dim, t._a.ndim)]
    if not -size <= start <= size or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return F.slice(t, dim=dim, start=start, stop=start + length)  # type: ignore[no-any-return]


def getitem(t: Tensor, key: Any) -> Tensor:
    """t[key]."""
    out, found = _parts(t, key, False)
    if found:
        return F.index(out, *found)  # type: ignore[no-any-return]
    return F.alias(out) if out is t else out  # type: ignore[no-any-return]


def setitem(t: Tensor, key: Any, value: Any) -> None:
    """t[key] = value."""
    target, found = _parts(t, key, True)
    if not isinstance(value, Tensor):
        value = Tensor(np.asarray(value, t._a.dtype))
    if found:
        inplace(OPS["index_put"], target, value, *found)
        return
    shape = target._a.shape
    if value._a.shape != shape and value._a.ndim:
        short = value._a.shape
        while short and short[0] == 1:
            short = short[1:]
        value = F.view(value, shape=short)
        if value._a.shape != shape:
            value = F.expand(value, shape=shape)
    elif value._a.shape != shape:
        inplace(OPS["fill_tensor"], target, value)
        return
    inplace(OPS["copy_"], target, value)


def item(t: Tensor) -> Any:
    """The only element as a Python number."""
    if t._a.size != 1:
        raise RuntimeError(f"a Tensor with {t._a.size} elements cannot be converted to Scalar")
    return t._a.item()


def no_history(t: Tensor, what: str) -> None:
    """Raises where values would leave the graph unnoticed."""
    if t.requires_grad:
        raise GraphError(f"Can't call {what} on Tensor that requires grad. Use tensor.detach().{what} instead.", "other")


def to(t: Tensor, kind: Any) -> Tensor:
    """The tensor in another element type."""
    return t if t._a.dtype == kind else apply(OPS["to_copy"], t, dtype=kind)  # type: ignore[no-any-return]
