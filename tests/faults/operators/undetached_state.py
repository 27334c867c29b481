# SPDX-License-Identifier: BSD-3-Clause
"""Take away the detach that ends a state's history between iterations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from . import Change
from ._detaches import sites, still_cut

CAUSE = "carried-state"


def mutants(host: Host) -> Iterator[Change]:
    for site, _, edits, names in sites(host, stored=False):
        yield Change(site, tuple(edits), remedy=("detach",), carrier=names)


def holds(seen: dict[str, Any]) -> bool:
    """The value that was met again went into the making of its own next value."""
    return seen["recurs"] and not seen["players"]


def twins(host: Host) -> Iterator[Change]:
    yield from still_cut(host, stored=False)
