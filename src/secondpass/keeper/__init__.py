# SPDX-License-Identifier: BSD-3-Clause
"""Several passes over one forward: budgets, recompute, offload, many losses."""

from .api import keep, kept
from .budget.plan import Plan
from .errors import BudgetError, HistoryError, KeepError, RepeatError
from .ledger import Ledger
from .losses.bptt import bptt, detach
from .losses.grads import backward, grads

__all__ = [
    "BudgetError", "HistoryError", "KeepError", "Ledger", "Plan", "RepeatError", "backward", "bptt", "detach", "grads",
    "keep", "kept",
]  # fmt: skip
