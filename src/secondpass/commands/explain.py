# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass explain`: prints the page of a cause, or why a report says what it says."""

from __future__ import annotations

import difflib
import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from .. import causes
from ..causes import Cause, find
from ..record import Finding, Report
from ..render import color_for

__all__ = ["command"]

_WIDTH = 80
_INDENT = " " * 29
"""Where the sentences of the list begin."""
_WITHOUT_TORCH = "\n\nThe programs run without PyTorch too: `import secondpass.autograd as torch`."


@click.command(short_help="What a cause means and what to do about it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--why",
    metavar="REPORT",
    help="Say which rule and which facts decided each finding of a report (`run --json REPORT`).",
)
@click.argument("words", nargs=-1, metavar="[CAUSE]", shell_complete=lambda *given: _begun(given[2]))
def command(words: tuple[str, ...], as_json: bool, why: str | None) -> None:
    """Print the page of CAUSE, given by name, by code, or by PyTorch's own message; without CAUSE, list all of them.

    \b
    secondpass explain carried-state
    secondpass explain SP103
    secondpass explain "Trying to backward through the graph a second time"
    secondpass explain
    secondpass explain --why report.json
    """
    cause = " ".join(words) if words else None
    if why is not None:
        reasons = [
            _reason(f) for f in _read(why).findings if cause is None or cause.lower() in (f.cause, f.code.lower())
        ]
        click.echo(json.dumps(reasons, indent=2) if as_json else _reasons(reasons))
        return
    if cause is None:
        everything = causes.CAUSES.values()
        text = json.dumps([_plain(c) for c in everything], indent=2) if as_json else _listed(everything)
        click.echo(text)
        return
    found = find(cause)
    begun = [c for c in causes.CAUSES.values() if len(cause) > 2 and c.code.startswith(cause.upper())]
    several = (begun or causes.behind(cause)) if found is None else []
    if len(several) > 1:
        text = _listed(several) if begun else _one_of(several)
        click.echo(json.dumps([_plain(c) for c in several], indent=2) if as_json else text)
        return
    found = found or next(iter(several), None)
    if found is None:
        click.echo(f"secondpass: {_unknown(cause)}", err=True)
        raise SystemExit(2)
    if as_json:
        click.echo(json.dumps({**_plain(found), "page": found.page}, indent=2))
    elif color_for(sys.stdout):
        _show(_titled(found))
    else:
        click.echo(_titled(found))


def _begun(word: str) -> list[str]:
    """The causes that a shell may complete a word to."""
    return [name for name in causes.CAUSES if name.startswith(word)]


def _read(file: str) -> Report:
    try:
        return Report.from_json(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        click.echo(f"secondpass: cannot read {file}: {error.strerror}", err=True)
    except (ValueError, TypeError, KeyError):
        click.echo(f"secondpass: {file} is no report. `secondpass run --json REPORT PROGRAM` writes one.", err=True)
    raise SystemExit(2)


def _reason(finding: Finding) -> dict[str, Any]:
    why = finding.facts.get("why") or {}
    seen = [str(e.get("text", "")) for e in finding.evidence]
    return {
        "code": finding.code,
        "cause": finding.cause,
        "failed": f"{finding.failed.file}:{finding.failed.line}" if finding.failed is not None else None,
        **({"row": why["row"], "when": why["when"], "facts": why["facts"]} if why else {}),
        "seen": [text for text in seen if text],
    }


def _reasons(reasons: list[dict[str, Any]]) -> str:
    rows = []
    for reason in reasons:
        rows.append(f"{reason['code']} {reason['cause']}  {reason['failed'] or ''}".rstrip())
        if "row" in reason:
            rows.append(f"  row {reason['row']} of the table: {reason['when']}")
            rows += [f"    {name:24} {_value(value)}" for name, value in reason["facts"].items()]
        rows += [f"  seen: {text}" for text in reason["seen"]]
        rows.append("")
    return "\n".join(rows) if rows else "The report has no findings."


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_value(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return (
        {None: "-", True: "yes", False: "no"}.get(value, str(value))
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _one_of(several: list[Cause]) -> str:
    return (
        "PyTorch says this for several reasons. `secondpass run PROGRAM` tells which one\n"
        "it is, with the lines and the name; `secondpass check PROGRAM` looks for it by\n"
        "reading the code.\n\n" + _listed(several)
    )


def _plain(cause: Cause) -> dict[str, Any]:
    return {"code": cause.code, "name": cause.name, "title": cause.title, "remedies": list(cause.remedies)}


def _titled(cause: Cause) -> str:
    without = "" if "torch.distributed" in cause.page else _WITHOUT_TORCH
    return f"# {cause.code} {cause.name}\n\n{cause.page}{without}"


def _listed(some: Iterable[Cause]) -> str:
    rows = []
    for cause in some:
        head = f"{cause.code}  {cause.name}".ljust(len(_INDENT))
        rows.append(textwrap.fill(cause.title, _WIDTH, initial_indent=head, subsequent_indent=_INDENT))
    return "\n".join([*rows, "", "`secondpass explain NAME` (or the code) prints the page of one."])


def _unknown(word: str) -> str:
    """What to say about a word that is no cause, with those that it may have meant."""
    key = word.strip().lower().replace("_", "-")
    words = {w: c for c in causes.CAUSES.values() for w in (*c.name.split("-"), c.name, c.code.lower())}
    containing = [c for c in causes.CAUSES.values() if len(key) > 2 and key in c.name]
    # A code that has other digits is another cause; one with a digit too many may be a slip.
    alike = 0.85 if key[-1:].isdigit() else 0.6
    near = [words[w] for w in difflib.get_close_matches(key, words, n=5, cutoff=alike)]
    meant = list(dict.fromkeys(f"{c.name} ({c.code})" for c in containing or near))[:3]
    hint = f"Did you mean {' or '.join(meant)}?" if meant else "`secondpass explain` lists all of them."
    return f"no cause is called {word!r}. {hint}"


def _show(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    console = Console(theme=Theme({"markdown.code": "cyan"}))
    console.print(Markdown(text, code_theme="ansi_dark"), width=min(_WIDTH, console.width))
