# SPDX-License-Identifier: BSD-3-Clause
"""Budgets: how many bytes may be held, written the way people write them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fractions import Fraction

import torch

__all__ = ["Share", "free_memory", "parse_budget", "readable"]

_UNITS = {"": 1, "b": 1} | {
    f"{letter}{tail}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for tail, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*|%)\s*", re.IGNORECASE)


_OF_FULL = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s+of\s+full\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Share:
    """A share of what `retain_graph=True` would take: saved tensors, results, and gradients on their way."""

    part: Fraction

    def of(self, full: int) -> int:
        return int(full * self.part)


def parse_budget(budget: int | float | str | None, device: torch.device | None = None) -> int | Share | None:
    """Turns `2**31`, `"2GB"`, `"1.5 GiB"`, `"40%"` or `0.4` into bytes, and `"50% of full"` into a share.

    A plain share (a float up to 1, or a percentage) is one of the device's free memory now. `None` means no limit.
    """
    if budget is None:
        return None
    if isinstance(budget, str) and (whole := _OF_FULL.fullmatch(budget)) is not None:
        if not 0 < Fraction(whole[1]) <= 1000:
            raise ValueError(f"`budget` should be more than nothing. (got {budget!r})")
        return Share(Fraction(whole[1]) / 100)
    if isinstance(budget, bool) or not isinstance(budget, (int, float, str)):
        raise TypeError(
            f"`budget` should be bytes, a size like '2GB', a share of free memory, or '50% of full'. (got {budget!r})"
        )
    share: float | Fraction | None = None
    if isinstance(budget, str):
        found = _WRITTEN.fullmatch(budget)
        unit = found[2].lower() if found else None
        if found is None or (unit != "%" and unit not in _UNITS):
            raise ValueError(
                f"`budget` should be a size like '2GB', '512MiB', '40%' or '50% of full'. (got {budget!r})"
            )
        if unit != "%":
            return _positive(int(Fraction(found[1]) * _UNITS[unit]), budget)
        share = Fraction(found[1]) / 100
    elif isinstance(budget, float) and 0 < budget <= 1:
        share = budget
    if share is None:
        if budget != budget or budget in (float("inf"), float("-inf")):
            raise ValueError(f"`budget` should be a number of bytes. (got {budget!r})")
        return _positive(int(budget), budget)
    if not 0 < share <= 1:
        raise ValueError(f"`budget` should be a share between 0 and 1 of the free memory. (got {budget!r})")
    return int(free_memory(device) * share)


def _positive(size: int, written: object) -> int:
    if size <= 0:
        raise ValueError(f"`budget` should be more than nothing. (got {written!r})")
    return size


def free_memory(device: torch.device | None = None) -> int:
    """Bytes that the device could still give: free ones, and those PyTorch's allocator holds for reuse."""
    if device is not None and device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        raise ValueError("`budget` as a share needs the free memory, which this system does not tell.") from None


def readable(size: float) -> str:
    """`1.50 GB`: for messages."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1000
    return f"{size:.2f} TB"
