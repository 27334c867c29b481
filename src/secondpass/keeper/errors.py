# SPDX-License-Identifier: BSD-3-Clause
"""What keep refuses, and the two errors of PyTorch it must raise in PyTorch's stead."""

from __future__ import annotations

__all__ = ["BudgetError", "ChangedError", "HistoryError", "KeepError", "RepeatError", "changed", "freed"]


class KeepError(RuntimeError):
    """Something that keep cannot do."""


class BudgetError(KeepError):
    """The budget cannot be met; the message says the least that can, and so does `least`."""

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least
        """The smallest budget that can be met, in bytes."""

    def __reduce__(self) -> tuple[type[BudgetError], tuple[str, int]]:
        return type(self), (str(self), self.least)


class RepeatError(KeepError):
    """An operation gave another result when it was computed again."""


class HistoryError(KeepError):
    """A pass would cross the border of a window."""


for _error in (BudgetError, HistoryError, KeepError, RepeatError):
    _error.__module__ = "secondpass"  # tracebacks show the public name


class ChangedError(RuntimeError):
    """Memory that is needed was written to. Programs see PyTorch's own error in it."""


ChangedError.__name__ = ChangedError.__qualname__ = "RuntimeError"
ChangedError.__module__ = "builtins"


def freed(why: str) -> RuntimeError:
    """The error for a saved tensor that is gone. Programs in the wild match on its first words."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have "
        f"already been freed). {why}"
    )


def changed(what: str, expected: int | None, found: int | None) -> ChangedError:
    """The error for a tensor that was written to after the forward. Same first words as PyTorch's."""
    versions = "" if expected is None else f" is at version {found}; expected version {expected} instead"
    return ChangedError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what}{versions}. It was changed between the kept forward and this pass (an optimizer step, or another "
        "in-place operation)."
    )
