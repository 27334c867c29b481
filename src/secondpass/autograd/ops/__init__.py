# SPDX-License-Identifier: BSD-3-Clause
"""The op table: see `table` for its shape. Importing it needs no NumPy."""

from . import activation, index, join, linear, loss, pointwise, reduce, shape
from .composed import COMPOSED
from .table import OPS, Namespace, Op, values

__all__ = ["COMPOSED", "OPS", "Namespace", "Op", "values"]

_ROWS = (pointwise, activation, reduce, shape, join, index, linear, loss)
