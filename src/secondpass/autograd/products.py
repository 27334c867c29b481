# SPDX-License-Identifier: BSD-3-Clause
"""Products that choose among the rows of the op table by the dimensions of what they are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .functions import reshape
from .recording import tensors as F
from .tensors import Tensor

__all__ = ["einsum", "matmul", "outer"]


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Vectors, matrices and batches of them, folded as PyTorch folds them."""
    p, q = a._a.ndim, b._a.ndim
    if not p or not q:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {p}D and {q}D")
    if a._a.dtype != b._a.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if p == 2 and q == 2:
        return F.mm(a, b)
    if p <= 2 and q <= 2:
        return F.dot(a, b) if p == q else F.mv(a, b) if p == 2 else F.squeeze_(F.mm(F.unsqueeze(a, 0), b), 0)
    if not _folds(a, b):
        return _batched(a, b)
    if p > q:
        return _folded(a, b)
    turned = F.transpose(b, -1, -2)
    if p == 1:
        return _folded(turned, a)
    out = F.transpose(_folded(turned, F.t(a)), -1, -2)
    return out if out._a.flags.c_contiguous else F.contiguous(out)


def _folds(a: Tensor, b: Tensor) -> bool:
    """Whether a batch is multiplied as one tall matrix: always where a gradient of the single matrix would otherwise be
    formed for every item of the batch, else where it costs no copy."""
    large, small = (a, b) if a._a.ndim >= b._a.ndim else (b, a)
    if large._a.ndim < 3 or small._a.ndim > 2:
        return False
    if small.requires_grad or a._a.ndim == 2:
        return small.requires_grad
    array = large._a if large is a else large._a.swapaxes(-1, -2)
    steps = list(zip(array.shape, array.strides, array.shape[1:], array.strides[1:], strict=False))[:-1]
    return not array.size or all(n == 1 or step == inner * width for n, step, width, inner in steps)


def _batched(a: Tensor, b: Tensor) -> Tensor:
    vector = b._a.ndim == 1
    rows, inner = a._a.shape[-2] if a._a.ndim > 1 else 1, a._a.shape[-1]
    columns = () if vector else b._a.shape[-1:]
    try:
        batch = np.broadcast_shapes(a._a.shape[:-2], b._a.shape[:-2])
    except ValueError as error:
        raise RuntimeError(f"matmul: {error}") from None
    many = math.prod(batch)
    left = reshape(F.expand(a, (*batch, rows, inner)), many, rows, inner)
    right = reshape(F.expand(b, (*batch, inner, *columns)), many, inner, *columns)
    out = F.bmm(left, F.unsqueeze(right, 2) if vector else right)
    shape = (*batch, *((rows,) if a._a.ndim > 1 else ()), *columns)
    return F.unsafe_view(F.squeeze_dim(out, 2) if vector else out, shape)


def _folded(a: Tensor, b: Tensor) -> Tensor:
    lead, flat = a._a.shape[:-1], reshape(a, -1, a._a.shape[-1])
    return F.unsafe_view(F.mv(flat, b) if b._a.ndim == 1 else F.mm(flat, b), (*lead, *b._a.shape[1:]))


def outer(a: Tensor, b: Tensor) -> Tensor:
    if a._a.ndim != 1 or b._a.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {a._a.ndim}-D and {b._a.ndim}-D")
    return F.mul(reshape(a, -1, 1), b)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products in Einstein's notation, two operands at a time."""
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
    if len(given) == 1:
        return _arrange(given[0], terms[0], out)
    size = {c: n for term, t in zip(terms, given, strict=True) for c, n in zip(term, t._a.shape, strict=True)}
    a, b = terms
    batch, inner = [c for c in a if c in b and c in out], [c for c in a if c in b and c not in out]
    mine, other = [c for c in a if c not in b and c in out], [c for c in b if c not in a and c in out]

    def block(t: Tensor, term: str, first: list[str], second: list[str]) -> Tensor:
        count = [math.prod(size[c] for c in group) for group in (batch, first, second)]
        return reshape(_arrange(t, term, "".join(batch + first + second)), *count)

    product = F.bmm(block(given[0], a, mine, inner), block(given[1], b, inner, other))
    order = "".join(batch + mine + other)
    return _arrange(reshape(product, [size[c] for c in order]), order, out)


def _arrange(t: Tensor, term: str, out: str) -> Tensor:
    gone = [c for c in term if c not in out]
    order = [term.index(c) for c in (*out, *gone)]
    t = F.permute(t, tuple(order)) if order else t
    return F.sum_dim(t, tuple(range(len(out), len(term)))) if gone else t
