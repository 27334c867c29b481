# SPDX-License-Identifier: BSD-3-Clause
"""Take away the detach (or no_grad) in front of another player's input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from . import Change
from ._detaches import sites

CAUSE = "crossed-networks"


def mutants(host: Host) -> Iterator[Change]:
    if len(host.owned()) < 2:
        return
    for site, _, edits, names in sites(host, stored=False):
        yield Change(site, tuple(edits), remedy=("detach", "inputs", "recompute"), carrier=names)


def holds(seen: dict[str, Any]) -> bool:
    """Steps of different optimizers used the two passes, and the value was made anew for them."""
    return bool(seen["players"]) and not seen["recurs"] and not seen["same_place"]
