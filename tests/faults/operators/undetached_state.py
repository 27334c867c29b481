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
    """A value of an earlier iteration: it went into its own next value, or at least no container keeps several of them."""
    stored = any("[...]" in name for name in seen["names"])
    return (seen["recurs"] or (seen["again"] and not stored)) and not seen["players"]


def twins(host: Host) -> Iterator[Change]:
    yield from still_cut(host, stored=False)
