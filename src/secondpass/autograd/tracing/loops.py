# SPDX-License-Identifier: BSD-3-Clause
"""Which loops of the user's are running, and in which iteration, told from where his frames stand.

NOTE [ Counting iterations from positions ]
1. Within one iteration a frame goes from statement to statement downwards. A statement above the one seen last, with a
   loop around both, means that the innermost such loop has begun anew.
2. So does the same statement at an earlier instruction, unless it has a comprehension, which may loop within itself.
3. A loop that was not around the last statement has been entered: that is an iteration, too.
4. A frame that stands where it stood says nothing. A loop whose body is one call can be counted too low for that, never
   too high; counts are compared for order and equality only.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FrameType

from ...record import Loop
from ..place import place

__all__ = ["Loops"]

Span = tuple[int, int]  # first and last line

_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Loop = (ast.For, ast.AsyncFor, ast.While)
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Loops:
    """The counts of one trace."""

    def __init__(self) -> None:
        self._last: dict[CodeType, tuple[int, int]] = {}  # statement and instruction where the code was seen last
        self._counts: Counter[tuple[CodeType, Span]] = Counter()

    def now(self, frames: Iterable[FrameType]) -> tuple[Loop, ...]:
        """The running loops of some frames, innermost first; to be asked at every event."""
        return tuple(loop for frame in frames for loop in self._of(frame))

    def _of(self, frame: FrameType) -> Iterator[Loop]:
        code, shape = frame.f_code, _shape(frame.f_code)
        statement, instruction = shape.statement(frame.f_lineno), frame.f_lasti
        around = shape.around(statement)
        before, at = self._last.get(code, (0, -1))
        self._last[code] = (statement, instruction)
        outside = [span for span in around if not span[0] < before <= span[1]]
        again = statement < before or (statement == before and instruction < at and statement not in shape.loose)
        shared = [span for span in around if span not in outside]
        self._counts.update((code, span) for span in (*outside, *(shared[-1:] if again else ())))
        file = where.file if (where := place((code, frame.f_lineno))) is not None else code.co_filename
        for span in reversed(around):
            yield Loop(file, span[0], self._counts[code, span])


class _Shape:
    """The statements and loops of one function."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.lines: dict[int, int] = {}
        self.spans: list[Span] = []
        self.loose: set[int] = set()  # statements that may loop within themselves (rule 2)
        self._read(body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            last = node.end_lineno or node.lineno
            self.lines.update(dict.fromkeys(range(node.lineno, last + 1), node.lineno))
            if isinstance(node, _Loop):
                self.spans.append((node.lineno, last))
            if isinstance(node, _Function):
                continue
            inner = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
            for part in ast.iter_child_nodes(node):
                if isinstance(part, (ast.ExceptHandler, ast.match_case)):
                    inner += part.body
            if not inner and any(isinstance(part, _Comprehension) for part in ast.walk(node)):
                self.loose.add(node.lineno)
            self._read(inner)

    def statement(self, line: int) -> int:
        """The first line of the innermost statement at a line."""
        return self.lines.get(line, line)

    def around(self, statement: int) -> list[Span]:
        """The loops whose body a statement stands in, outermost first."""
        return sorted(span for span in self.spans if span[0] < statement <= span[1])


@lru_cache(maxsize=256)
def _shape(code: CodeType) -> _Shape:
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):
        return _Shape([])
    if code.co_name == "<module>":
        return _Shape(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if code.co_firstlineno in (first, node.lineno):
                return _Shape(node.body)
    return _Shape([])
