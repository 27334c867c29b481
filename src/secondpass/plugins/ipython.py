# SPDX-License-Identifier: BSD-3-Clause
"""`%load_ext secondpass.plugins.ipython`: exceptions of cells are explained; `%secondpass` explains the last one.

The magic is for an exception that came before the extension was loaded: it looks after the fact.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import secondpass

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_MAGIC = "secondpass"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Watches from now on."""
    session = secondpass.install()
    shell.register_magic_function(_explain, "line", _MAGIC)
    plain = shell.showtraceback

    def showtraceback(*args: Any, **kwargs: Any) -> Any:
        error = sys.exc_info()[1]
        if error is not None:
            session.raised(error)  # somebody reads it
        return plain(*args, **kwargs)

    shell.showtraceback = showtraceback  # type: ignore[method-assign]


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Stops watching."""
    secondpass.uninstall()
    shell.magics_manager.magics["line"].pop(_MAGIC, None)
    vars(shell).pop("showtraceback", None)


def _explain(line: str) -> None:
    """Explain the last exception."""
    secondpass.explain()
