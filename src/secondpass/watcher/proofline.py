# SPDX-License-Identifier: BSD-3-Clause
"""A line per pass and per step, for whoever compares two runs of a program.

`secondpass run` writes them where the environment says so:

SECONDPASS_PROOF          the file: one JSON object a line
SECONDPASS_PROOF_LINES    lines to look out for, as `file:line;file:line`: where one is first executed, a line says so
SECONDPASS_PROOF_UNTIL    stop the program, as if it had ended, at the beginning of this pass
SECONDPASS_PROOF_ENOUGH   `passes:seconds`: stop it when both have been reached

Of several ranks the first one writes them.

Roots, gradients and the state of random numbers are digested, bit by bit; nothing of the program is kept.

A pass says where it is made (`at`), which gradients it begins with and where it is to stop (`sent`: two passes of one run
can be compared by it, runs cannot), which parameters lie behind its roots and what its graph is made of (`shape`), and which
optimizers had no gradient (`clean`); a step which parameters had a gradient, which of them others own as well (`shared`),
and which optimizers own no others (`within`: one that works through another). Parameters are `[optimizer, parameter]`, both
counted in the order in which the program made them, so that two runs of a program name the same things alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from ..torchgraph import Leaves
from .files import Files
from .ledger import PassNote
from .log import Log
from .rank import rank
from .shape import Shapes

__all__ = ["ProofLines"]

_LOOKS = 256
"""So many passes and steps are digested; later ones are only counted."""


class ProofLines:
    """Writes the lines of one run."""

    def __init__(self, log: Log | None, leaves: Leaves, files: Files, stop: Callable[[], None]) -> None:
        # Processes that the program starts write to the same file: none of them may empty it.
        self.file = open(os.environ["SECONDPASS_PROOF"], "a", buffering=1, encoding="utf-8")  # noqa: SIM115
        self.log, self.leaves, self.files, self.stop = log, leaves, files, stop
        self.shapes = Shapes()
        self.until = int(os.environ.get("SECONDPASS_PROOF_UNTIL") or 0)
        enough, _, seconds = (os.environ.get("SECONDPASS_PROOF_ENOUGH") or "0:0").partition(":")
        self.enough, self.seconds = int(enough), float(seconds or 0)
        self.watched = set(filter(None, os.environ.get("SECONDPASS_PROOF_LINES", "").split(";")))
        self.passes = self.steps = self.seen = 0
        self.began = time.perf_counter()
        self._optimizers: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._follow_optimizers()

    @staticmethod
    def wanted() -> bool:
        return bool(os.environ.get("SECONDPASS_PROOF"))

    def on_torch(self, *, changed: bool) -> None:
        """torch has been imported; `changed`: the program has changed the environment before."""
        self._write({"what": "torch", "environment": changed})

    def on_pass(self, note: PassNote, outputs: Any, gradients: Any) -> None:
        """A pass begins."""
        self.passes += 1
        self._look_for_lines()
        line: dict[str, Any] = {"what": "pass", "number": self.passes}
        if self.passes <= _LOOKS:
            roots = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
            line["digest"], line["random"] = _digest(roots), _random()
            line["sent"] = [_digest(gradients), note.inputs]
            if len(roots) == 1 and torch.is_tensor(roots[0]) and roots[0].numel() == 1:
                line["value"] = float(roots[0].detach().real)
            line["clean"] = [i for i, o in enumerate(self._optimizers) if not _filled(o)]
            line["at"] = [[p.file, p.line] for p in self.files.places(note.key)[:1]]
            line |= self._shape(note, roots)
        self._write(line)
        late = self.enough and self.passes > self.enough and time.perf_counter() - self.began > self.seconds
        if (self.until and self.passes > self.until) or late:
            self._write({"what": "stopped", "number": self.passes - 1})
            self.stop()

    def on_step(self, optimizer: Any, *_: Any) -> None:
        """A step begins: its gradients."""
        self.steps += 1
        if self.steps > _LOOKS:
            return
        gradients = {i: p.grad for i, p in enumerate(_parameters(optimizer)) if p.grad is not None}
        dense = [g.detach() for g in gradients.values() if not g.is_sparse]
        with torch.no_grad():
            # Sums in double: equal gradients give equal sums, and nearly equal ones nearly equal sums.
            sums = [float(g.double().sum()) for g in dense]
            empty = bool(gradients) and len(dense) == len(gradients) and not any(bool(g.any()) for g in dense)
        number = self._numbers.get(id(optimizer), -1)
        had = [] if empty else sorted(gradients)
        others = {i: {id(p) for p in _parameters(o)} for i, o in enumerate(self._optimizers) if o is not optimizer}
        own = [id(p) for p in _parameters(optimizer)]
        line = {"what": "step", "number": self.steps, "sums": sums, "optimizer": number, "had": had}
        line["shared"] = [i for i, p in enumerate(own) if any(p in those for those in others.values())]
        line["within"] = [i for i, those in others.items() if those <= set(own)]
        self._write(line)
        if number >= 0:
            self.shapes.stepped(number, torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]

    def _follow_optimizers(self) -> None:
        """Every optimizer that is made gets the next number. (Nobody else runs in a process that writes these lines.)"""
        plain = torch.optim.Optimizer.__init__

        def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            plain(optimizer, *args, **kwargs)
            self._numbers[id(optimizer)] = len(self._numbers)
            self._optimizers.append(optimizer)

        torch.optim.Optimizer.__init__ = made  # type: ignore[method-assign, assignment]

    def _shape(self, note: PassNote, roots: Any) -> dict[str, Any]:
        """What lies behind some roots."""
        known: dict[int, list[tuple[int, int]]] = {}
        for number, optimizer in enumerate(self._optimizers):
            for i, p in enumerate(_parameters(optimizer)):
                known.setdefault(self.leaves.number(p), []).append((number, i))
        frees = not (note.retain or note.create)
        return self.shapes.of(roots, self.leaves.of, lambda leaf: known.get(leaf, ()), note.inputs, frees)

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
        if rank():
            return
        self.file.write(json.dumps(line) + "\n")


def _parameters(optimizer: Any) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _filled(optimizer: Any) -> bool:
    """Whether gradients wait for a step; one of them is looked at."""
    gradient = next((p.grad for p in _parameters(optimizer) if p.grad is not None), None)
    return gradient is not None and (gradient.is_sparse or bool(gradient.any()))


def _random() -> str:
    """Where torch's source of random numbers stands. (Python's and numpy's begin elsewhere in every process.)"""
    return hashlib.blake2b(torch.get_rng_state().numpy().tobytes(), digest_size=8).hexdigest()


def _digest(roots: Any) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for root in roots:
        if torch.is_tensor(root) and root.layout == torch.strided:
            values = root.detach().cpu().reshape(-1)[:4096]
            seen.update(repr((root.dtype, tuple(root.shape), values.tolist())).encode())
    return seen.hexdigest()
