# SPDX-License-Identifier: BSD-3-Clause
"""Which pass came before a failed one, and what it can have freed, when nothing was watching.

NOTE [ What the dead still tell ]
1. An earlier call in the same function whose root is still held by a name: its whole graph can be walked, so what it
   freed is known.
2. A call in a loop, and a name whose history contains the same operations again: the state of the last iteration. What
   is older than that was freed by the last pass.
3. A call in a loop, and a name that is assigned before the loop only: built once; it and what is older was freed.
4. Otherwise the failing pass's own root is taken for what went through before.
"""

from __future__ import annotations

import ast
import linecache
from types import FrameType
from typing import Any

from ..source import Source, assigned, effects, parsed, root_of
from ..torchgraph import edges, freed, is_leaf, touchable, walk_young
from ..watcher.bindings import look
from ..watcher.watcher import Watcher

__all__ = ["Guess"]


class Guess:
    """The pass before: where it was made (`earlier`), its roots if known, and the youngest node it can have seen."""

    def __init__(self, watcher: Watcher, frames: list[FrameType], key: tuple[Any, ...], outputs: list[Any]) -> None:
        self.tensors: dict[str, Any] = {}
        look(frames, self.tensors)
        self.earlier = key
        self.name: tuple[str, int] | None = None
        """The name that held the state of the last iteration, and its node then."""
        own = edges(outputs)
        self.graph = walk_young(own, touchable())
        self.roots = tuple(watcher.leaves.of(n) for n in own)  # rule 4
        self.border = max((n._sequence_nr() for n in own if not is_leaf(n)), default=0)
        if key:
            file, line, _ = key[0]
            tree = parsed("".join(linecache.getlines(file)))
            if tree is not None:
                self._read(watcher, tree, line, key)

    def _read(self, watcher: Watcher, tree: Source, line: int, key: tuple[Any, ...]) -> None:
        function, loops = tree.function(line), tree.loops(line)
        first = loops[0].lineno if loops else 0
        inside = [s for s in tree.statements if first < s.lineno < line and tree.function(s.lineno) is function]
        calls = [s.lineno for s in inside if any(True for _ in effects(s, "pass"))]
        failing = _root(tree, line)
        for before in sorted(calls, reverse=True):  # rule 1
            root = _root(tree, before)
            here = ((key[0][0], before, key[0][2]), *key[1:])
            changed = {ast.unparse(t) for s in inside if s.lineno > before for t in assigned(s)}
            if root and root == failing and root not in changed:
                self.earlier = here  # the same root, whatever the name has come to hold since: rule 4
                return
            held = self.tensors.get(root)
            if held is not None and held.grad_fn is not None:
                self.earlier = here
                self.roots = (watcher.leaves.of(held.grad_fn),)
                self.border = held.grad_fn._sequence_nr()
                return
        if loops:
            again = self._recurrence() or self._hoisted(function, loops[0])
            if again is not None:
                self.roots, self.border = (), again

    def _recurrence(self) -> int | None:
        """Rule 2."""
        best = None
        for name, tensor in self.tensors.items():
            node = tensor.grad_fn
            if node is None or node not in self.graph:
                continue
            kind = [node.name(), *(p.name() for p in self.graph[node])]
            behind = walk_young(self.graph[node], touchable())
            same = [n for n, parents in behind.items() if [n.name(), *(p.name() for p in parents)] == kind]
            # One operation comes again once per iteration; a stack of equal layers comes again within one.
            if same and len(kind) > 1:
                youngest = max(n._sequence_nr() for n in same)
                if best is None or youngest > best:
                    best, self.name = youngest, (name, youngest)
        return best

    def _hoisted(self, function: ast.AST, loop: ast.stmt) -> int | None:
        """Rule 3."""
        inside = {ast.unparse(t) for n in ast.walk(loop) if isinstance(n, ast.stmt) for t in assigned(n)}
        numbers = [
            t.grad_fn._sequence_nr()
            for name, t in self.tensors.items()
            if name not in inside
            and t.grad_fn is not None
            and t.grad_fn in self.graph
            and freed(t.grad_fn) is not False
        ]
        return max(numbers, default=None)


def _root(tree: Source, line: int) -> str:
    """What the pass on a line starts from, as the source says it."""
    statement = tree.statement(line)
    root = root_of(statement) if statement is not None else None
    return ast.unparse(root) if root is not None else ""
