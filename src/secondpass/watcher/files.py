# SPDX-License-Identifier: BSD-3-Clause
"""Whose code a frame runs: the user's, or a library's."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..record import Place
from ..record.place import CELL
from ..source import joined
from .libraries import library_of

__all__ = ["Files", "pairs_of"]

_HERE = str(Path(__file__).resolve().parent.parent) + os.sep
_RUNNER = os.path.join(_HERE, "commands", "_program.py")
"""Runs a program: what stands outside of it, whoever called it, is no part of the program."""
_CODES = 20_000
_ENTRANCES = tuple(
    os.path.join("torch", *p) for p in (("_tensor.py",), ("autograd", "__init__.py"), ("autograd", "graph.py"))
)


class Files:
    """Knows the user's files. Answers are remembered."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = str(root.resolve()) + os.sep if root is not None else None
        self._cwd = os.getcwd() + os.sep
        self._answers: dict[str, bool] = {}
        self._cells: dict[str, str] = {}
        self._hosts: dict[str, bool] = {}
        self._codes: dict[int, _Code] = {}
        paths = sysconfig.get_paths()
        self._libraries = tuple(
            p + os.sep
            for p in {paths.get("stdlib"), paths.get("platstdlib"), paths.get("purelib"), paths.get("platlib")}
            if p
        )
        # What installers write there starts programs; it is part of none. (Unless it is the program.)
        self._starters = paths.get("scripts", "") + os.sep
        if self.root is not None and self.root.startswith(self._starters):
            self._starters = os.devnull

    def mine(self, code: CodeType) -> bool:
        """Whether a code object comes from the user's files."""
        return self._mine(code.co_filename)

    def _mine(self, file: str) -> bool:
        answer = self._answers.get(file)
        if answer is None:
            answer = self._answers[file] = self._judge(file)
        return answer

    def _judge(self, file: str) -> bool:
        if file.startswith("<"):
            # Notebook cells and `python -c`; not `<frozen importlib>` and the like.
            return file.startswith(("<ipython", "<stdin>", "<string>"))
        full = os.path.abspath(file)
        if full.startswith((_HERE, self._starters)):
            return False
        inside = self.root is not None and full.startswith(self.root)
        if library_of(full):
            return False
        return inside or not full.startswith(self._libraries)

    def is_users(self, file: str) -> bool:
        """Whether a file, by its name, is one of the user's."""
        return self._mine(file)

    def is_library(self, kind: type) -> bool:
        """Whether a class comes from a library. Containers that everybody fills with modules of their own do not count."""
        home = type.__getattribute__(kind, "__module__")
        if not isinstance(home, str) or home == "torch.nn.modules.container":
            return False
        file = getattr(sys.modules.get(home), "__file__", None)
        return isinstance(file, str) and not self._judge(file)

    def show(self, file: str) -> str:
        """A file as places name it: relative to the working directory where it lies below it; a cell by its number."""
        cell = _cell(file)
        if cell is not None:
            shown, file = f"{CELL}{cell.number}]", cell.file
            if self._cells.get(shown) != file:
                self._cells[shown] = file
                # Renderers find it by this name, wherever they show a place.
                lines = linecache.getlines(file)
                linecache.cache[shown] = (sum(map(len, lines)), None, lines, shown)
            return shown
        if file.startswith("<"):
            return file
        full = os.path.abspath(file)
        return full.removeprefix(self._cwd)

    def cells(self) -> set[str]:
        """Every cell that a running IPython has compiled: a name may come from one that no pass was made in."""
        return {self.show(file) for file in list(_compiled()[1])}

    def lines(self, shown: str) -> list[str]:
        """The text of a file that places name; the program may have changed its working directory since."""
        if shown in self._cells:
            return linecache.getlines(self._cells[shown])
        return linecache.getlines(shown if shown.startswith("<") else os.path.join(self._cwd, shown))

    def text(self, shown: str) -> str:
        """The same in one piece."""
        return joined(self.lines(shown))

    def frames(self, frame: FrameType | None) -> list[FrameType]:
        """The user's frames of a stack, innermost first."""
        found = []
        while frame is not None:
            if self.mine(frame.f_code):
                found.append(frame)
            elif frame.f_code.co_filename == _RUNNER:
                break
            frame = frame.f_back
        return found

    def hosts(self, frame: FrameType | None) -> list[FrameType]:
        """The frames of other libraries than torch that lie between: those of a framework that calls the user, and that he
        calls. Innermost first."""
        found = []
        while frame is not None:
            code = frame.f_code
            if code.co_argcount and not self.mine(code) and self._is_host(code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return found

    def _is_host(self, file: str) -> bool:
        answer = self._hosts.get(file)
        if answer is None:
            known = library_of(file) not in ("", "torch")
            answer = self._hosts[file] = known and not os.path.abspath(file).startswith(_HERE)
        return answer

    def is_own(self, kind: type) -> bool:
        """Whether a class is defined in the user's files."""
        module = sys.modules.get(str(type.__getattribute__(kind, "__module__")))
        file = vars(module).get("__file__") if module is not None else None
        return type(file) is str and self._mine(file)

    def key(self, frame: FrameType | None) -> tuple[Any, ...]:
        """The user's frames as (code, instruction, code, instruction...): a cheap name for a call site.

        This runs in every pass and step: line numbers, which Python works out by reading a table from its beginning,
        are
        left to `places`.
        """
        found: list[Any] = []
        codes = self._codes
        while frame is not None:
            code = frame.f_code
            known = codes.get(id(code))
            if known is None:
                known = self._know(code)
            if known.mine:
                found += (known, frame.f_lasti)
            elif known.outermost:
                break
            frame = frame.f_back
        return tuple(found)

    def called_directly(self, frame: FrameType | None) -> bool | None:
        """Whether the user's own line called PyTorch's engine, told from a frame of its entrance; False where PyTorch itself
        did, None where another library did (its user may have told it to)."""
        while frame is not None and frame.f_code.co_filename.endswith(_ENTRANCES):
            frame = frame.f_back
        if frame is None:
            return None
        if self.mine(frame.f_code):
            return True
        return False if library_of(frame.f_code.co_filename) == "torch" else None

    def _know(self, code: CodeType) -> _Code:
        if len(self._codes) > _CODES:
            self._codes.clear()
        known = self._codes[id(code)] = _Code(code, self.mine(code))
        return known

    def places(self, key: tuple[Any, ...]) -> tuple[Place, ...]:
        """A call site as places; one that was read off a traceback comes as (file, line, function)."""
        if key and isinstance(key[0], tuple):
            return tuple(Place(self.show(f), line, name.replace("<locals>.", "")) for f, line, name in key)
        return tuple([self._place(c, at) for c, at in zip(key[::2], key[1::2], strict=True)])

    def _place(self, known: _Code, at: int) -> Place:
        place = known.places.get(at)
        if place is None:
            code = known.code
            place = Place(self.show(code.co_filename), _line(code, at), code.co_qualname.replace("<locals>.", ""))
            if not self._cells:  # the name of a cell comes to stand for what it has become
                known.places[at] = place
        return place


class _Cell(NamedTuple):
    number: int
    file: str
    """What a place in it is read from."""


def _compiled() -> tuple[Any, dict[str, int]]:
    """IPython, where it is running, and the number of each cell by the name that it was compiled under."""
    shell = sys.modules.get("IPython.core.getipython")
    running = shell.get_ipython() if shell is not None else None
    known = getattr(getattr(running, "compile", None), "_filename_map", None)
    return running, known if isinstance(known, dict) else {}


def _cell(file: str) -> _Cell | None:
    """The cell that a running IPython has compiled under a name."""
    running, known = _compiled()
    if isinstance(number := known.get(file), int):
        # A magic that runs the rest of its cell compiles twice under one number: the call of the magic, then the user's lines.
        return _Cell(number, next(f for f, n in reversed(known.items()) if n == number))
    match = re.match(r"<ipython-input-(\d+)-", file) if running is not None else None
    return _Cell(int(match[1]), file) if match else None


def pairs_of(key: tuple[Any, ...]) -> list[tuple[Any, int]]:
    """A call site as its codes, each with the instruction; one that was read off a traceback has none."""
    return [] if key and isinstance(key[0], tuple) else list(zip(key[::2], key[1::2], strict=True))


class _Code:
    """A code object and whose it is. It holds the code, so that no other can come to have the same identity."""

    __slots__ = ("code", "mine", "outermost", "places")

    def __init__(self, code: CodeType, mine: bool) -> None:
        self.code, self.mine = code, mine
        self.outermost = code.co_filename == _RUNNER
        self.places: dict[int, Place] = {}
        """Those of some of its instructions."""


def _line(code: CodeType, instruction: int) -> int:
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return next(lines, None) or code.co_firstlineno


assert sys.version_info >= (3, 11)  # co_qualname
