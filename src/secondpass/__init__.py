# SPDX-License-Identifier: BSD-3-Clause
"""Lifetime management for PyTorch's autograd graph.

The public names are bound on first use: `import secondpass` loads neither torch nor numpy.

PYTEST_DONT_REWRITE: under `secondpass run -m pytest` we are there before pytest, which would warn that it comes too late
to rewrite our assertions. We have none, and the warning may be an error.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .keeper import BudgetError, HistoryError, KeepError, RepeatError, backward, bptt, detach, grads, keep, kept
    from .see import ledger
    from .session import explain, install, uninstall, watch

_HOMES = {
    **dict.fromkeys(("explain", "install", "uninstall", "watch"), "session"),
    **dict.fromkeys(("BudgetError", "HistoryError", "KeepError", "RepeatError"), "keeper"),
    **dict.fromkeys(("backward", "bptt", "detach", "grads", "keep", "kept"), "keeper"),
    "ledger": "see",
}

__all__ = [
    "BudgetError", "HistoryError", "KeepError", "RepeatError", "__version__", "backward", "bptt", "detach", "explain",
    "grads", "install", "keep", "kept", "ledger", "uninstall", "watch",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(f"secondpass.{name} needs PyTorch: `pip install torch`", name="torch") from None


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext secondpass`, in a notebook."""
    import_module(f"{__name__}.plugins.ipython").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext secondpass`."""
    import_module(f"{__name__}.plugins.ipython").unload_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
