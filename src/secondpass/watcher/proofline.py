# SPDX-License-Identifier: BSD-3-Clause
"""A line per pass and per step, for whoever compares two runs of a program.

`secondpass run` writes them where the environment says so:

SECONDPASS_PROOF          the file: one JSON object a line
SECONDPASS_PROOF_LINES    lines to look out for, as `file:line;file:line`: where one is first executed, a line says so
SECONDPASS_PROOF_UNTIL    stop the program, as if it had ended, at the beginning of this pass
SECONDPASS_PROOF_ENOUGH   `passes:seconds`: stop it when both have been reached

Roots and gradients are digested, bit by bit; nothing of the program is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from .log import Log

__all__ = ["ProofLines"]

_LOOKS = 256
"""So many passes and steps are digested; later ones are only counted."""


class ProofLines:
    """Writes the lines of one run."""

    def __init__(self, log: Log | None, stop: Callable[[], None]) -> None:
        self.file = open(os.environ["SECONDPASS_PROOF"], "w", buffering=1, encoding="utf-8")  # noqa: SIM115
        self.log, self.stop = log, stop
        self.until = int(os.environ.get("SECONDPASS_PROOF_UNTIL") or 0)
        enough, _, seconds = (os.environ.get("SECONDPASS_PROOF_ENOUGH") or "0:0").partition(":")
        self.enough, self.seconds = int(enough), float(seconds or 0)
        self.watched = set(filter(None, os.environ.get("SECONDPASS_PROOF_LINES", "").split(";")))
        self.passes = self.steps = self.seen = 0
        self.began = time.perf_counter()

    @staticmethod
    def wanted() -> bool:
        return bool(os.environ.get("SECONDPASS_PROOF"))

    def on_pass(self, outputs: Any) -> None:
        """A pass begins."""
        self.passes += 1
        self._look_for_lines()
        line: dict[str, Any] = {"what": "pass", "number": self.passes}
        if self.passes <= _LOOKS:
            roots = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
            line["digest"] = _digest(roots)
        self._write(line)
        late = self.enough and self.passes > self.enough and time.perf_counter() - self.began > self.seconds
        if (self.until and self.passes > self.until) or late:
            self._write({"what": "stopped", "number": self.passes - 1})
            self.stop()

    def on_step(self, optimizer: Any, *_: Any) -> None:
        """A step begins: its gradients."""
        self.steps += 1
        if self.steps <= _LOOKS:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            with torch.no_grad():
                # Sums in double: equal gradients give equal sums, and nearly equal ones nearly equal sums.
                sums = [float(g.detach().double().sum()) for g in grads if not g.is_sparse]
            self._write({"what": "step", "number": self.steps, "sums": sums})

    def _look_for_lines(self) -> None:
        """Whether one of the watched lines has been executed since the last pass."""
        if not self.watched or self.log is None:
            return
        end = self.log.position()
        for _, statement in self.log.between(self.seen, end):
            if f"{os.path.realpath(statement.file)}:{statement.line}" in self.watched:
                self._write({"what": "edited", "before": self.passes})
                self.watched = set()
                return
        self.seen = end

    def _write(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line) + "\n")


def _digest(roots: Any) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for root in roots:
        if torch.is_tensor(root) and root.layout == torch.strided:
            values = root.detach().cpu().reshape(-1)[:4096]
            seen.update(repr((root.dtype, tuple(root.shape), values.tolist())).encode())
    return seen.hexdigest()
