# SPDX-License-Identifier: BSD-3-Clause
"""The op table: see `table` for its shape. Importing it needs no NumPy."""

from . import index, linear, loss, pointwise, reduce, shape
from .table import OPS, Op, values

__all__ = ["OPS", "Op", "values"]

_ROWS = (pointwise, reduce, shape, index, linear, loss)
