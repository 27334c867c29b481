# SPDX-License-Identifier: BSD-3-Clause
"""`# noqa` comments, and which codes were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ...record import Finding

__all__ = ["is_silenced", "unknown_codes", "wanted"]

_COMMENT = re.compile(r"#\s*noqa(?P<codes>\s*:\s*[A-Z]+[0-9]*(?:[\s,]+[A-Z]+[0-9]+)*)?", re.IGNORECASE)
_WHOLE = re.compile(
    r"^\s*#\s*secondpass\s*:\s*noqa(?P<codes>\s*:\s*[A-Z]+[0-9]*(?:[\s,]+[A-Z]+[0-9]+)*)?\s*$",
    re.IGNORECASE | re.MULTILINE,
)


def _covers(match: re.Match[str], code: str) -> bool:
    listed = match.group("codes")
    if not listed:
        return True
    return any(code.startswith(c.upper()) for c in re.findall(r"[A-Za-z]+[0-9]*", listed))


def unknown_codes(text: str, known: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, code) of the codes of ours in `# noqa` comments that begin no code that there is."""
    if "noqa" not in text.lower():
        return
    for number, line in enumerate(text.split("\n"), 1):
        for found in _COMMENT.finditer(line):
            for code in re.findall(r"[A-Za-z]+[0-9]*", (found.group("codes") or "")):
                if re.fullmatch(r"SP[0-9]+", code.upper()) and not any(c.startswith(code.upper()) for c in known):
                    yield number, code


def is_silenced(finding: Finding, text: str) -> bool:
    """Whether a comment on the finding's line, or one for the whole file, silences it."""
    if finding.failed is None or "noqa" not in text.lower():
        return False
    if any(_covers(found, finding.code) for found in _WHOLE.finditer(text)):
        return True
    lines = text.split("\n")
    line = lines[finding.failed.line - 1] if finding.failed.line <= len(lines) else ""
    found = _COMMENT.search(line)
    return found is not None and not _WHOLE.match(line) and _covers(found, finding.code)


def wanted(finding: Finding, select: Iterable[str], ignore: Iterable[str]) -> bool:
    """Whether a finding was asked for, by code, by the beginning of a code, or by name; the longest match decides."""

    def longest(words: Iterable[str]) -> int:
        fits = [len(w) for w in words if finding.code.startswith(w.upper()) or w == finding.cause or w.upper() == "ALL"]
        return max(fits, default=-1)

    asked = list(select)
    return (longest(asked) if asked else 0) > longest(ignore)
