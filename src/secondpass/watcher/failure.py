# SPDX-License-Identifier: BSD-3-Clause
"""A pass has failed: what kind of failure, and at which node."""

from __future__ import annotations

import re
from types import FrameType
from typing import Any

import torch

from ..torchgraph import changed, edges, freed, is_leaf, order, touchable, walk, walk_young, walked, written_to
from .bindings import Snapshot, look
from .ledger import PassNote
from .makers import maker
from .watcher import Watcher

__all__ = ["Failed", "Graph", "kind_of"]

_KINDS = (
    ("backward through the graph a second time", "backward-twice"),
    ("after they have already been freed", "backward-twice"),
    ("already been freed", "backward-twice"),
    ("already unpacked once", "freed-access"),
    ("modified by an inplace operation", "inplace"),
    ("does not require grad and does not have a grad_fn", "no-grad"),
    ("donated buffer", "donated"),
    ("output of CUDAGraphs that has been overwritten", "overwritten-output"),
    ("does not currently support double backward", "double-backward"),
    ("appears to not have been used in the graph", "unused"),
    ("mark a variable ready only once", "ready-twice"),
    ("which is undefined, but still allreduced", "ready-twice"),
    ("training graph has changed in this iteration, e.g., one parameter is unused in first", "ready-twice"),
    ("Expected to have finished reduction in the prior iteration", "unfinished-reduction"),
)
_RECENT = 12


def kind_of(error: BaseException) -> str:
    """What kind of failure an exception is; "other" for those that are not of our family."""
    text = str(error)
    return next((kind for part, kind in _KINDS if part in text), "other")


class Failed:
    """A failed pass, while its graph and its frames are still there. Lives only as long as the analysis."""

    def __init__(
        self, note: PassNote, outputs: Any, args: tuple[Any, ...], error: BaseException, frame: FrameType
    ) -> None:
        self.note = note
        self.outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        self.inputs = list(args[3]) if len(args) > 3 and args[3] else []
        self.error = error
        self.frame = frame
        self.frames: list[FrameType] | None = None
        """The user's frames, where they cannot be had from `frame` (a traceback's frames are no longer linked)."""
        self.kind = kind_of(error)


class Graph:
    """The graph of a failed pass, read once, with what is known of every node's life."""

    def __init__(self, failed: Failed, watcher: Watcher) -> None:
        self.failed, self.watcher = failed, watcher
        self.tensors: dict[str, torch.Tensor] = {}
        files = watcher.files
        self.shot: Snapshot = look(
            failed.frames or files.frames(failed.frame),
            self.tensors,
            files.hosts(failed.frame),
            files.is_own,
            barren=watcher.looks.barren,
            within=maker(failed.frame) if failed.note.nested else None,
        )
        self.roots = edges(failed.outputs)
        self.nodes = walk_young(self.roots, touchable())
        self.wanted = walked(self.nodes, failed.inputs)
        self.number: dict[Any, int] = {}
        self._count()
        self.failing: Any = None
        self.saved: str | None = None
        self.data: torch.Tensor | None = None
        self._revive()
        earlier = [
            n
            for n in reversed(watcher.ledger.pass_notes())
            if n is not failed.note and not n.retain and n.outcome == "ok" and n.when < failed.note.when
        ]
        self.freed: dict[Any, bool | None] = {n: self._was_freed(n, earlier) for n in self.nodes}
        if failed.kind in ("backward-twice", "freed-access", "donated"):
            self._find_freed()
        elif failed.kind == "inplace":
            self._find_changed()

    def _count(self) -> None:
        """Gives every node a number of its own: nodes of other threads may share theirs."""
        used: set[int] = set()
        extra = 1 << 41
        for node in self.nodes:
            number = self.watcher.leaves.of(node)
            if number in used:
                number, extra = extra, extra + 1
            used.add(number)
            self.number[node] = number

    def _revive(self) -> None:
        """Learns what earlier passes walked that were not looked at, where their roots are still there."""
        notes = [
            n for n in self.watcher.ledger.pass_notes()[-_RECENT:] if n.walked is None and n is not self.failed.note
        ]
        if not notes:
            return
        alive = {t.grad_fn._sequence_nr(): t.grad_fn for t in self.tensors.values() if t.grad_fn is not None}
        alive.update({self.number[n]: n for n in self.nodes})
        for note in notes:
            roots = [alive[r] for r in note.roots if r in alive]
            if len(roots) != len(note.roots) or not roots:
                continue
            graph = walk(roots, touchable() // 4)
            if graph is None:
                continue
            numbers = {n: self.watcher.leaves.of(n) for n in graph}
            goals = set(note.inputs or ())
            inputs = [torch.autograd.graph.GradientEdge(n, 0) for n, k in numbers.items() if k in goals]
            if note.inputs and len(inputs) != len(goals):
                continue
            note.walked = frozenset(numbers[n] for n in walked(graph, inputs))

    def _was_freed(self, node: Any, earlier: list[PassNote]) -> bool | None:
        """Whether a node was freed before this pass (by one of the `earlier`, newest first, that freed what they walked). The
        failing pass itself frees nodes before it fails."""
        if is_leaf(node):
            return None
        number = self.number[node]
        unknown = False
        for note in earlier:
            if number < 1 << 41 and note.entry <= number and note.thread == self.failed.note.thread:
                break  # built after that pass began, and so after all the passes before it
            if note.walked is None:
                unknown = True
            elif number in note.walked:
                return True
        else:
            unknown = unknown or not earlier
        if not unknown:
            return False
        gone = freed(node)
        return gone if gone is not None else None

    def _find_freed(self) -> None:
        for node in order(self.nodes, self.wanted, self.roots):
            if self.freed[node] and freed(node):
                self.failing = node
                return
        # Nothing that an earlier pass is known to have walked: take the first freed node that is not of this pass.
        last = max((n.exit for n in self.watcher.ledger.pass_notes() if n is not self.failed.note), default=0)
        for node in order(self.nodes, self.wanted, self.roots):
            if not is_leaf(node) and node._sequence_nr() < last and freed(node):
                self.failing = node
                self.freed[node] = True
                return

    def _find_changed(self) -> None:
        for node in order(self.nodes, self.wanted, self.roots):
            name = changed(node)
            if name is not None:
                self.failing, self.saved = node, name
                self.data = written_to(node, name)
                return
        self._find_changed_slice()

    def _find_changed_slice(self) -> None:
        """In-place changes of views are wrapped in CopySlices, whose saved tensors cannot be read. But each raises the
        version by one, so the version that was expected counts them."""
        slices = sorted((n for n in self.nodes if n.name().endswith("CopySlices")), key=lambda n: self.number[n])
        versions = re.search(r"expected version (\d+)", str(self.failed.error))
        if slices and versions:
            self.failing = slices[min(max(int(versions[1]), 1), len(slices)) - 1]
