# SPDX-License-Identifier: BSD-3-Clause
"""Take away the detach in front of what is put into a queue, a buffer, a memory or a dict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from . import Change
from ._detaches import sites, still_cut

CAUSE = "stored-history"


def mutants(host: Host) -> Iterator[Change]:
    for site, _, edits, names in sites(host, stored=True):
        yield Change(site, tuple(edits), remedy=("detach",), carrier=names, also=("hoisted-forward",))


def holds(seen: dict[str, Any]) -> bool:
    """What was stored is met in a later pass, and is not what it was made from."""
    return not seen["recurs"] and not seen["players"]


def twins(host: Host) -> Iterator[Change]:
    yield from still_cut(host, stored=True)
