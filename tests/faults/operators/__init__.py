# SPDX-License-Identifier: BSD-3-Clause
"""Ways to break a program that is right, one file each; found by being there.

An operator is a module with a docstring (its first line stands in the table of docs/faults.md), a `CAUSE`, and

- `mutants(host) -> Iterator[Change]`: every way to make this mistake in a host;
- `twins(host) -> Iterator[Change]`: changes that look alike and are right;
- optionally `holds(seen) -> bool`: what the oracle must have seen of a mutant, beside the error, for the key to be true.

A `Change` that does not show its fault in a plain run is dropped: operators may try more than they know. What they may not do
is to be unsure of the answer.
"""

from __future__ import annotations

import hashlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..host import Host
from ..program import Edit, Mutant, apply

__all__ = ["Change", "Operator", "operators"]

TRIED = 8
"""How many sites of one host an operator tries; of those that show their fault, fewer are taken."""


@dataclass(frozen=True)
class Change:
    """One mistake, made."""

    site: str
    edits: tuple[Edit, ...]
    cause: str = ""
    """Where it is not the operator's own."""
    error: tuple[str, ...] = ("backward-twice",)
    """What PyTorch may say for the fault to be this one; `none` for silent ones."""
    remedy: tuple[str, ...] = ()
    carrier: tuple[str, ...] = ()
    """Names beside those that the oracle finds; () with `named` False accepts any."""
    named: bool = True
    also: tuple[str, ...] = ()
    shows: str = "result"
    references: tuple[tuple[Edit, ...], ...] = ()
    placed: bool = True
    """Whether the places that the oracle finds are part of the key."""


@dataclass(frozen=True)
class Operator:
    """A module of this package."""

    name: str
    cause: str
    title: str
    mutants: Callable[[Host], Iterator[Change]]
    twins: Callable[[Host], Iterator[Change]]
    holds: Callable[[dict[str, Any]], bool]
    digest: str
    """Of its file: what it made is kept as long as it is the same."""

    def of(self, host: Host, *, twins: bool = False) -> list[tuple[Mutant, Change]]:
        """The programs that this operator makes of a host, a few sites each."""
        found: list[tuple[Mutant, Change]] = []
        seen: set[str] = set()
        for change in (self.twins if twins else self.mutants)(host):
            made = apply(host.program, change.edits)
            if made is None or made[0].digest in seen:
                continue
            program, marks = made
            if any(not _parses(t) for f, t in program.files.items() if t != host.program.files.get(f)):
                continue
            seen.add(program.digest)
            references = [a[0] for r in change.references if (a := apply(host.program, r)) is not None]
            mutant = Mutant(
                operator=self.name,
                site=change.site,
                program=program,
                cause="clean" if twins else change.cause or self.cause,
                host=host.name,
                remedy=change.remedy,
                carrier=change.carrier,
                tags=marks["tags"],
                lines=marks["lines"],
                also=change.also,
                references=tuple(references),
                shows=change.shows,
            )
            found.append((mutant, change))
        return spread(found)[:TRIED]


def spread(items: list[Any]) -> list[Any]:
    """The same items in another order: any first few of them come from all over."""
    return sorted(items, key=lambda pair: hashlib.sha256(pair[0].name.encode()).digest())


def _parses(text: str) -> bool:
    try:
        compile(text, "program", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


@cache
def operators() -> dict[str, Operator]:
    """Every operator by its name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{info.name}")
        name = info.name.replace("_", "-")
        found[name] = Operator(
            name,
            module.CAUSE,
            (module.__doc__ or "").strip().partition("\n")[0],
            module.mutants,
            getattr(module, "twins", _none),
            getattr(module, "holds", lambda seen: True),
            hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:16],
        )
    return found


def _none(host: Host) -> Iterator[Change]:
    return iter(())
