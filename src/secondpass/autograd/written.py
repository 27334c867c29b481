# SPDX-License-Identifier: BSD-3-Clause
"""What an expression acts on, as the user's source writes it."""

from __future__ import annotations

import linecache
import re

from .place import here

__all__ = ["written"]

_TARGETS = {
    "detach": r"([\w.\[\]\"']+)\.detach", "item": r"([\w.\[\]\"']+)\.item", "data": r"([\w.\[\]\"']+)\.data",
    "numpy": r"([\w.\[\]\"']+)\.(?:numpy|tolist)", "wrap": r"tensor\(\s*([\w.\[\]\"']+)",
    "write": r"^\s*([\w.]+(?:\[[^\]]*\])*?)\s*(?:\.\w+_\(|\[[^\]]*\]\s*[-+*/]?=|[-+*/]=)",
}  # fmt: skip


def written(kind: str) -> str:
    """What an expression acts on, read from the user's line."""
    spot = here(3)
    if spot is None or kind not in _TARGETS:
        return ""
    found = re.search(_TARGETS[kind], linecache.getline(spot[0].co_filename, spot[1]))
    return found.group(1) if found else ""
