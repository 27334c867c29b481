# SPDX-License-Identifier: BSD-3-Clause
"""Writes the page: one HTML file with its data inside, which works offline.

`page.html` beside this file is built from `web/` by `make page`; it is a template with one marker, where the data go.

NOTE [ Nothing in the data can become markup ]
1. The data are JSON inside a script element that no browser runs (its type is `application/json`). `<`, `>` and `&` are
   written as escapes, so nothing in them can end that element or begin a comment; all else is ASCII. Characters that turn
   the direction of writing are shown by their numbers: a line of source must not read as another.
2. The page turns data into text nodes and pixels only; its policy (a meta element) lets no other script run and nothing load.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["SCHEMA", "html", "write"]

SCHEMA = "secondpass-page/1"
MARKER = "<!--data-->"
# Every escape of JSON, so that the second half of an escaped backslash is not taken for the beginning of another.
TURNING = re.compile(r"\\(?:u(202[a-e]|206[6-9]|200[ef]|061c)|.)")


def html(data: Mapping[str, Any]) -> str:
    """The page with these data, as text. They are described in `docs/page.md`; parts that are not there stay empty."""
    template = (files("secondpass.see") / "page.html").read_text(encoding="utf-8")
    before, after = template.split(MARKER)
    return f'{before}<script type="application/json" id="data">{_escaped({"schema": SCHEMA, **data})}</script>{after}'


def write(data: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Writes the page to a file, whole or not at all, and says where it is. Raises `OSError` when it cannot be written."""
    text = html(data)
    target = Path(path).resolve()  # a link stays one
    if target.exists() and not target.is_file():  # a pipe, a terminal: nothing to replace
        target.write_text(text, encoding="utf-8")
        return target
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())  # a page is made to be passed on: not private as temporary files are
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _escaped(data: Mapping[str, Any]) -> str:
    """See NOTE [ Nothing in the data can become markup ], 1."""
    try:
        text = json.dumps(data, allow_nan=False, default=str, separators=(",", ":"))
    except ValueError:  # nan and inf are no JSON: what is not a number is not known
        text = json.dumps(_finite(data), allow_nan=False, default=str, separators=(",", ":"))
    text = TURNING.sub(lambda found: rf"\\u{found[1]}" if found[1] else found[0], text)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _umask() -> int:
    # The only way to ask is to set it; no other thread of ours makes files meanwhile.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
