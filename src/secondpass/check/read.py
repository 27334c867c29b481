# SPDX-License-Identifier: BSD-3-Clause
"""`read(paths) -> Report`: files are collected, grouped into projects, and read in several processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from .. import __version__
from ..causes import CAUSES
from ..record import Finding, Report
from .files.find_files import Roots, collect, shown_name
from .files.notebook_cells import Cells
from .files.sources import decode, read_source
from .report.outcome import UNREADABLE
from .report.suppress import is_silenced, unknown_codes, wanted
from .settings import Settings
from .workers import read_all

__all__ = ["Settings", "read"]


def read(
    paths: Iterable[str | Path], settings: Settings | None = None, texts: Mapping[str, str] | None = None
) -> Report:
    """Reads files and folders. `texts` holds unsaved text by path, for editors."""
    settings = settings or Settings()
    given = [str(p) for p in paths]
    unsaved = [g for g in given if not os.path.exists(g) and os.path.abspath(g) in map(os.path.abspath, texts or ())]
    files, notes = collect([g for g in given if g not in unsaved], list(settings.exclude), settings.respect_gitignore)
    files += unsaved
    projects: dict[str, list[str]] = {}
    roots = Roots(given)
    for file in files:
        projects.setdefault(roots.of(file), []).append(file)
    named = (
        {f for f in files if any(os.path.isfile(g) and os.path.samefile(f, g) for g in given)}
        if len(given) < 50
        else set(given)
    )
    outcome, count = read_all(projects, settings, texts or {}, named)
    for file in given:
        # A file that is named is read, whether or not it seems to train anything.
        if os.path.isfile(file) and not (texts and os.path.abspath(file) in map(os.path.abspath, texts)):
            outcome.look(shown_name(file), read_source(file))
    findings = [f for f in outcome.findings if f.code == UNREADABLE or wanted(f, settings.select, settings.ignore)]
    cells = Cells()
    findings = [f for f in findings if not is_silenced(f, _text(f, texts or {}, cells))]
    findings.sort(key=lambda f: (f.failed.file, f.failed.line, f.code) if f.failed else ("", 0, f.code))
    return Report(
        tuple(cells.told(f) for f in _unique(findings)),
        tool={"name": "secondpass check", "version": __version__},
        program={"paths": given, "files": len(files), "read": count},
        notes=tuple(dict.fromkeys([*notes, *outcome.notes, *_unknown_codes(outcome.files)])),
    )


def _unknown_codes(files: Iterable[str]) -> Iterator[str]:
    """Comments that silence a code which there is not: they silence nothing."""
    for file in sorted(f for f in files if f.endswith(".py")):
        try:
            text = decode(Path(file).read_bytes())
        except OSError:
            continue
        for line, code in unknown_codes(text, [*(c.code for c in CAUSES.values()), UNREADABLE]):
            yield f"{file}:{line}: `# noqa: {code}` silences nothing: there is no code that begins so"


def _unique(findings: list[Finding]) -> list[Finding]:
    return list({(f.code, f.failed and (f.failed.file, f.failed.line)): f for f in findings}.values())


def _text(finding: Finding, texts: Mapping[str, str], cells: Cells) -> str:
    if finding.failed is None:
        return ""
    name = finding.failed.file
    for path, text in texts.items():
        if os.path.abspath(path) == os.path.abspath(name):
            return text
    if name.endswith(".ipynb"):
        return cells.source(name).text
    try:
        raw = Path(name).read_bytes()
    except OSError:
        return ""
    return decode(raw)
