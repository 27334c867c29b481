# SPDX-License-Identifier: BSD-3-Clause
"""What is held, why, and what the passes cost."""

from __future__ import annotations

from dataclasses import dataclass

from .budget.size import readable

__all__ = ["Ledger", "Line", "PassLine"]


@dataclass(frozen=True)
class Line:
    """One unit in one call; the empty name is what lies outside of the units."""

    call: int
    unit: str
    state: str
    """held, recompute, host or freed: what holds for most of its bytes"""
    bytes: int
    """All saved tensors of the unit, held or not."""
    held: int
    """Bytes held on the device now."""
    host: int
    """Bytes on the host now."""
    why: str


@dataclass(frozen=True)
class PassLine:
    """One of the last passes."""

    number: int
    """Which pass over its call it was, from 1."""
    seconds: float
    recomputed: int
    """Operations that were run again for it."""
    recompute_seconds: float


@dataclass(frozen=True)
class Ledger:
    """What a kept function holds at this moment."""

    budget: int | None
    policy: str
    expected_passes: int | None
    most: int
    """The most bytes that one call has held so far, as far as they are not PyTorch's own."""
    lines: tuple[Line, ...]
    passes: tuple[PassLine, ...]

    @property
    def held(self) -> int:
        """Bytes held on the device."""
        return sum(line.held for line in self.lines)

    @property
    def on_host(self) -> int:
        """Bytes held on the host."""
        return sum(line.host for line in self.lines)

    @property
    def bytes(self) -> int:
        """Bytes that retain_graph=True would hold."""
        return sum(line.bytes for line in self.lines)

    def __str__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {readable(self.budget)}"
        head = f"keep: {readable(self.held)} held of {readable(self.bytes)}, {budget}, policy {self.policy}"
        if self.on_host:
            head += f", {readable(self.on_host)} on the host"
        rows = [
            f"  call {line.call}  {line.unit or '(outside of the units)'}: {line.state}, "
            f"{readable(line.held)} of {readable(line.bytes)}, {line.why}"
            for line in self.lines
        ]
        rows += [
            f"  pass {line.number}: {line.seconds * 1e3:.2f} ms, {line.recomputed} operations run again in "
            f"{line.recompute_seconds * 1e3:.2f} ms"
            for line in self.passes
        ]
        return "\n".join([head, *rows])
