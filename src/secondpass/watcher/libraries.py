# SPDX-License-Identifier: BSD-3-Clause
"""Which library a file belongs to: told by what installers leave behind, not by the name of a folder alone."""

from __future__ import annotations

import glob
import os
import sys
from functools import cache, lru_cache

__all__ = ["library_of"]

_SITES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


@lru_cache(4096)
def library_of(file: str) -> str:
    """The installed library that a file belongs to; nothing for the user's own, and for Python's.

    Not every environment keeps its packages in `site-packages`: `pip install --target`, what a cluster unpacks and puts on
    PYTHONPATH, a PyTorch that stands where it was built.
    """
    for site in _SITES:
        _, found, inside = file.rpartition(site)
        if found:
            return _top(inside)
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    if torch and file.startswith(os.path.dirname(torch) + os.sep):
        return "torch"
    for folder in sys.path[1:]:  # the first is the program's own, whatever is installed beside it
        whole = folder.rstrip(os.sep) + os.sep
        if file.startswith(whole) and os.path.isabs(whole) and os.sep in file[len(whole) :] and _has_packages(whole):
            return _top(file[len(whole) :])
    return ""


def _top(inside: str) -> str:
    return inside.partition(os.sep)[0].removesuffix(".py")


@cache
def _has_packages(folder: str) -> bool:
    """Whether packages are installed there: each leaves its record beside what it installs."""
    return next(glob.iglob(os.path.join(glob.escape(folder), "*.dist-info")), None) is not None
