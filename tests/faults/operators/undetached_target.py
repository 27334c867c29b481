# SPDX-License-Identifier: BSD-3-Clause
"""Take away the detach (or no_grad) of a target, an advantage or a weight that several passes use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from . import Change
from ._detaches import sites

CAUSE = "hoisted-forward"


def mutants(host: Host) -> Iterator[Change]:
    for site, _, edits, names in sites(host, stored=False):
        yield Change(site, tuple(edits), remedy=("detach", "recompute"), carrier=names, also=("stored-history",))


def holds(seen: dict[str, Any]) -> bool:
    """One value, made once, met by two passes of one player at one place."""
    return not seen["players"] and not seen["recurs"] and not seen["again"] and seen["same_place"]
