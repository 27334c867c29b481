# SPDX-License-Identifier: BSD-3-Clause
"""Products of vectors and matrices.

NOTE [ Columns ]
PyTorch multiplies in the order that gives a gradient the layout of its matrix: where the matrix lies in memory column
by column (a weight behind `t()`), the product is formed transposed. `columns` says which inputs do.
"""

from __future__ import annotations

from typing import Any

from .table import define, np


def by_columns(x: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    return bool(x.strides[0] == x.itemsize and x.strides[1] == x.itemsize * x.shape[0])


def _left(F: Any, g: Any, right: Any, columns: bool) -> Any:
    return F.t(F.matrix_product(right, F.t(g))) if columns else F.matrix_product(g, F.t(right))


def _right(F: Any, g: Any, left: Any, columns: bool) -> Any:
    return F.t(F.matrix_product(F.t(g), left)) if columns else F.matrix_product(F.t(left), g)


def _mm(a: Any, b: Any, columns: tuple[bool, bool] = (False, False)) -> Any:
    return a @ b


def _addmm(c: Any, a: Any, b: Any, columns: tuple[bool, bool] = (False, False)) -> Any:
    out = a @ b
    out += c
    return out


define(
    "mm", "MmBackward0", "self mat2", _mm, {"mat2": "self", "self": "mat2"},
    self=lambda F, g, n, b, a: _left(F, g, b, n.params["columns"][0]),
    mat2=lambda F, g, n, b, a: _right(F, g, a, n.params["columns"][1]),
    matrices=2,
)  # fmt: skip
define(
    "addmm", "AddmmBackward0", "self mat1 mat2", _addmm, {"mat1": "mat2", "mat2": "mat1"},
    self=lambda F, g, n, a, b: g,
    mat1=lambda F, g, n, a, b: _left(F, g, b, n.params["columns"][0]),
    mat2=lambda F, g, n, a, b: _right(F, g, a, n.params["columns"][1]),
    matrices=2,
)  # fmt: skip
define(
    "mv", "MvBackward0", "self vec", lambda a, v: a @ v, {"self": "vec", "vec": "self"},
    self=lambda F, g, n, a, v: F.mul(F.view(g, shape=(n.shape(0)[0], 1)), v),
    vec=lambda F, g, n, a, v: F.mv(F.t(a), g),
)  # fmt: skip
define(
    "dot", "DotBackward0", "self tensor", lambda a, b: np.asarray(a @ b), {"self": "tensor", "tensor": "self"},
    self=lambda F, g, n, a, b: F.mul(g, b), tensor=lambda F, g, n, a, b: F.mul(g, a),
    matrices=1,
)  # fmt: skip
define(
    "bmm", "BmmBackward0", "self mat2", lambda a, b: a @ b, {"mat2": "self", "self": "mat2"},
    self=lambda F, g, n, b, a: F.bmm(g, F.transpose(b, dim0=1, dim1=2)),
    mat2=lambda F, g, n, b, a: F.bmm(F.transpose(a, dim0=1, dim1=2), g),
    matrices=3,
)  # fmt: skip
define(
    "baddbmm", "BaddbmmBackward0", "self batch1 batch2", lambda c, a, b: c + a @ b,
    {"batch1": "batch2", "batch2": "batch1"},
    self=lambda F, g, n, a, b: g,
    batch1=lambda F, g, n, a, b: F.bmm(g, F.transpose(b, dim0=1, dim1=2)),
    batch2=lambda F, g, n, a, b: F.bmm(F.transpose(a, dim0=1, dim1=2), g),
    matrices=3,
)  # fmt: skip
