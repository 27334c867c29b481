# SPDX-License-Identifier: BSD-3-Clause
"""What a loop that was cut short may still do: branches whose condition moves, and did not come true yet.

NOTE [ What comes later ]
1. `if step > 200:` is known to be false in the few turns that are looked at. If the numbers it compares differ from turn
   to turn, it may come true in one that is not.
2. What is silent rests on what never happens. It is not told where a branch of that kind could make it happen: clear the
   list, the gradients; walk the graph again; let a parameter take part.
3. Nor where a condition that cannot be told, and is another one in every turn, decides on it: which turns step and which
   clear is then nobody's but the policy's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...causes import find
from ...record import Finding
from ..files.project import SHOWING
from .machine import Loop, Machine
from .skipped_turns import Compared, open_loops
from .values import Unknown

__all__ = ["compared", "decided", "may_change"]

_GIVING = frozenset(("parameters", "named_parameters", "param_groups", "add_param_group"))
_EMPTYING = set("clear pop popleft popitem remove flush reset empty".split())


class Decided:
    """A condition inside a loop that will be cut short, and which ways it went."""

    __slots__ = ("answers", "asked", "gathers", "loops", "node", "walks")

    def __init__(self, node: ast.If) -> None:
        self.node = node
        self.answers: set[bool] = set()
        self.walks: list[set[bool]] = []
        """The same, for each walk of the innermost of those loops: what it was in one call says nothing of another call."""
        self.asked: set[Any] = set()
        """The questions that it was, where it could not be told."""
        self.loops: list[Loop] = []
        self.gathers = 0
        """How often a branch put history into what outlives the turn."""

    def untaken(self) -> Iterator[list[ast.stmt]]:
        """The branches that some walk of the loop around them never took."""
        if {True} in self.walks:
            yield self.node.orelse
        if {False} in self.walks:
            yield self.node.body


def compared(m: Machine, node: ast.Compare | ast.If, op: ast.cmpop, left: Any, right: Any, modulus: int = 0) -> None:
    """Notes the numbers of a comparison inside a loop that will be cut short."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        seen = m.compared.get(id(node))
        if seen is None:
            seen = m.compared[id(node)] = Compared(op)
        seen.note(open_loops(m), left, right, modulus)


def decided(m: Machine, node: ast.If, answer: bool, test: Any) -> None:
    """Notes which way a condition went inside a loop that will be cut short."""
    seen = m.decided.get(id(node))
    if seen is None:
        seen = m.decided[id(node)] = Decided(node)
    loops, before = open_loops(m), seen.loops
    seen.loops = loops
    if isinstance(test, Unknown):
        seen.asked.add(test.key)
    if not any(loop.jumped for loop in loops):
        seen.answers.add(answer)
        if not seen.walks or loops[:1] != before[:1]:
            seen.walks.append(set())
        seen.walks[-1].add(answer)


def may_change(m: Machine, finding: Finding) -> bool:
    """Whether a branch that was not taken yet could make a silent finding untrue."""
    for seen in m.decided.values():
        if (
            finding.code == "SP404"
            and len(seen.asked) > 1
            and _concerns(m, finding, [*seen.node.body, *seen.node.orelse])
        ):
            return True
        for way in seen.untaken():
            if finding.code == "SP401":
                # Whatever the condition is: a holder that is emptied somewhere has an author who thought of it.
                name = finding.carrier.name.partition("[")[0] if finding.carrier else ""
                if _empties(m, name.rpartition(".")[2], way, len(seen.answers) > 1):
                    return True
            elif any((c := m.compared.get(id(n))) is not None and c.moves for n in ast.walk(seen.node.test)):
                if _concerns(m, finding, way):
                    return True
    return False


def _concerns(m: Machine, finding: Finding, branch: list[ast.stmt]) -> bool:
    calls = set().union(*(m.project.calls(s) for s in branch))
    if finding.code == "SP406" and finding.facts.get("gone"):
        return _gives_parameters(m, branch)
    if finding.code == "SP406":
        acts = calls - SHOWING or "append" in calls
        return bool(acts) or any(isinstance(n, (ast.Assign, ast.AugAssign)) for s in branch for n in ast.walk(s))
    known = find(finding.cause)
    return known is not None and bool(calls.intersection(known.untrue_after))


def _gives_parameters(m: Machine, branch: list[ast.stmt]) -> bool:
    """Whether statements, or functions that they call, ask for parameters: what nobody holds any more can only be replaced in its
    optimizer."""
    functions: dict[str, list[ast.stmt]] = {}
    for tree in filter(None, map(m.project.tree, m.modules)):
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions.setdefault(node.name, []).extend(node.body)
    todo, seen = list(branch), set[str]()
    while todo:
        stmt = todo.pop()
        if any(isinstance(n, ast.Attribute) and n.attr in _GIVING for n in ast.walk(stmt)):
            return True
        new = m.project.calls(stmt) - seen
        seen |= new
        todo += [s for name in new for s in functions.get(name, ())]
    return False


def _empties(m: Machine, name: str, branch: list[ast.stmt], own: bool = False) -> bool:
    """Whether something by that name is emptied; if it need not be its `own`, whatever is."""
    for node in (n for s in branch for n in ast.walk(s)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _EMPTYING
            and (not own or name in ast.unparse(node.func.value))
        ):
            return True
        last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if last == name and isinstance(node.ctx, (ast.Store, ast.Del)):  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Delete) and any(name in ast.unparse(t) for t in node.targets):
            return True
    return False
