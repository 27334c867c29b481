# SPDX-License-Identifier: BSD-3-Clause
"""Products of vectors and matrices.

NOTE [ Columns ]
PyTorch multiplies in the order that gives a gradient the layout of its matrix: where the matrix lies in memory column
by column (a weight behind `t()`), the product is formed transposed. `columns` says which inputs do.
"""

from __future__ import annotations

from typing import Any

from .pointwise import same
from .table import define

# A table: rows, and the formulas that they share.
# fmt: off

def _by_columns(x: Any) -> bool:
    return bool(x.strides[0] == x.itemsize and x.strides[1] == x.itemsize * x.shape[0])

def _columns(*inputs: Any) -> dict[str, Any]:
    return {"columns": (_by_columns(inputs[-2]), _by_columns(inputs[-1]))}

def _product(a: Any, b: Any, ndim: int) -> Any:
    if a.ndim != ndim or b.ndim != ndim:
        raise RuntimeError(f"{ndim}-D tensors expected (got {list(a.shape)} and {list(b.shape)})")
    return a @ b

def _addmm(self: Any, mat1: Any, mat2: Any) -> Any:
    out = _product(mat1, mat2, 2)
    out += self
    return out

def _left(F: Any, g: Any, n: Any, right: Any) -> Any:
    return F.t(F.mm(right, F.t(g))) if n.columns[0] else F.mm(g, F.t(right))

def _right(F: Any, g: Any, n: Any, left: Any) -> Any:
    return F.t(F.mm(F.t(g), left)) if n.columns[1] else F.mm(F.t(left), g)

define("mm", "MmBackward0", "self mat2", lambda self, mat2: _product(self, mat2, 2), {"mat2": "self", "self": "mat2"}, notes=_columns,
       self=lambda F, g, n, b, a: _left(F, g, n, b), mat2=lambda F, g, n, b, a: _right(F, g, n, a))
define("addmm", "AddmmBackward0", "self mat1 mat2", _addmm, {"mat1": "mat2", "mat2": "mat1"}, notes=_columns,
       self=same, mat1=lambda F, g, n, a, b: _left(F, g, n, b), mat2=lambda F, g, n, a, b: _right(F, g, n, a))
define("mv", "MvBackward0", "self vec", lambda self, vec: self @ vec, {"self": "vec", "vec": "self"},
       self=lambda F, g, n, a, v: F.view(g, (n.shapes[0][0], 1)) * v, vec=lambda F, g, n, a, v: F.mv(F.t(a), g))
define("dot", "DotBackward0", "self tensor", lambda self, tensor: _product(self, tensor, 1), {"self": "tensor", "tensor": "self"},
       self=lambda F, g, n, a, b: g * b, tensor=lambda F, g, n, a, b: g * a)
define("bmm", "BmmBackward0", "self mat2", lambda self, mat2: _product(self, mat2, 3), {"mat2": "self", "self": "mat2"},
       self=lambda F, g, n, b, a: F.bmm(g, F.transpose(b, 1, 2)), mat2=lambda F, g, n, b, a: F.bmm(F.transpose(a, 1, 2), g))
