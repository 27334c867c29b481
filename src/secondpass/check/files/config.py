# SPDX-License-Identifier: BSD-3-Clause
"""`[tool.secondpass]` in pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["load"]

_KINDS: dict[str, type] = {
    "select": list,
    "ignore": list,
    "exclude": list,
    "baseline": str,
    "output-format": str,
    "unsafe-fixes": bool,
    "respect-gitignore": bool,
}


def load(folder: Path) -> tuple[dict[str, Any], str]:
    """The settings of the nearest pyproject.toml that has any, and what is wrong with them in one line."""
    for here in (folder, *folder.parents):
        file = here / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            data = tomllib.loads(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            return {}, f"{file}: {error}"
        table = data.get("tool", {}).get("secondpass")
        if table is not None:
            return _checked(table, file)
    return {}, ""


def _checked(table: Any, file: Path) -> tuple[dict[str, Any], str]:
    if not isinstance(table, dict):
        return {}, f"{file}: [tool.secondpass] should be a table"
    for name, value in table.items():
        kind = _KINDS.get(name)
        if kind is None:
            return {}, f"{file}: unknown setting {name!r} under [tool.secondpass] (known: {', '.join(_KINDS)})"
        if not isinstance(value, kind) or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
            shape = "a list of strings" if kind is list else f"a {'string' if kind is str else 'boolean'}"
            return {}, f"{file}: {name!r} under [tool.secondpass] should be {shape} (got {value!r})"
    return table, ""
