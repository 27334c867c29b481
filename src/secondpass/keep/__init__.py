# SPDX-License-Identifier: BSD-3-Clause
"""Owning the buffers of a live program: budgets, recompute, offload, many losses."""

from .._verb import callable_as
from ._errors import BudgetError, HistoryError, KeepError, RepeatError
from ._kept import keep
from ._ledger import Ledger
from ._many import backward, grads
from ._window import bptt, detach

__all__ = [
    "BudgetError",
    "HistoryError",
    "KeepError",
    "Ledger",
    "RepeatError",
    "backward",
    "bptt",
    "detach",
    "grads",
    "keep",
]

callable_as(__name__, "keep")
