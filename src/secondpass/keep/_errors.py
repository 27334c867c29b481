# SPDX-License-Identifier: BSD-3-Clause
"""What keep refuses, and the two errors of PyTorch it must raise in PyTorch's stead."""

from __future__ import annotations

__all__ = ["BudgetError", "HistoryError", "KeepError", "RepeatError", "changed", "spent"]


class KeepError(RuntimeError):
    """Something that keep cannot do."""


class BudgetError(KeepError):
    """The budget cannot be met; the message says the least that can, and so does `least`."""

    least: int | None = None
    """The smallest budget that can be met, in bytes."""


class RepeatError(KeepError):
    """A forward did something else when it was run again."""


class HistoryError(KeepError):
    """A pass would cross the border of a window."""


for _error in (BudgetError, HistoryError, KeepError, RepeatError):
    _error.__module__ = "secondpass.keep"  # tracebacks show the public name


def spent() -> RuntimeError:
    """The error for a buffer that is gone. Programs in the wild match on its first words."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed). This part of the graph lies outside of what secondpass.keep keeps: pass "
        "retain_graph=True to the earlier pass, or put it inside the kept function."
    )


def changed(what: str, expected: int, found: int) -> RuntimeError:
    """The error for a tensor that was written to after the forward. Same first words as PyTorch's."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what} is at version {found}; expected version {expected} instead. It was changed between the kept forward "
        "and this pass (an optimizer step, or another in-place operation)."
    )
