# SPDX-License-Identifier: BSD-3-Clause
"""How a program ends by an exception or an interrupt, as in a plain run."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

from ..watcher.libraries import library_of

__all__ = ["die_of_interrupt", "folded", "is_folded", "show", "without_ours", "without_torch"]

_OURS = str(Path(__file__).resolve().parent.parent) + os.sep


def show(error: BaseException, *, whole: bool = True, painted: Mapping[str, str] | None = None) -> Any:
    """What Python does with an exception that nobody caught; returns the exit status.

    Unless `whole`, frames of libraries and of ours are one line: what they say is in the explanation. `painted` are notes of the
    exception and what to show in their place. A program that has a hook of its own gets it, whatever we would like.
    """
    kind, where = type(error), error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, where
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        if whole and not painted:
            sys.excepthook(kind, error, where)
        elif sys.excepthook is sys.__excepthook__:
            _print(error, whole, painted or {})
        else:
            with _in_place_of_pythons(lambda *_: _print(error, whole, painted or {})):
                sys.excepthook(kind, error, where)
    except SystemExit as stop:
        return stop.code
    except BaseException as fault:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(fault.with_traceback(without_ours(fault.__traceback__)), chain=False)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(error)
    return 1


@contextmanager
def _in_place_of_pythons(hook: Callable[..., None]) -> Iterator[None]:
    """Where torch.distributed has its hook, which puts the rank before every line of what Python's own prints: has it call
    another."""
    around: Any = sys.excepthook
    cell = None
    while getattr(around, "__module__", "") == "torch.distributed.distributed_c10d":
        cells = dict(zip(around.__code__.co_freevars, around.__closure__ or (), strict=False))
        cell = cells.get("old_hook")
        around = cell.cell_contents if cell is not None else None
    if cell is None or around is not sys.__excepthook__:
        yield
        return
    cell.cell_contents = hook
    try:
        yield
    finally:
        cell.cell_contents = around


def _print(error: BaseException, whole: bool, painted: Mapping[str, str]) -> None:
    try:
        shown = traceback.TracebackException.from_exception(error, compact=True)
        if not whole:
            _fold(shown, set())
        text = "".join(shown.format())
        for note, instead in painted.items():
            text = text.replace(note, instead)
    except Exception:  # Python's own way always works
        sys.__excepthook__(type(error), error, error.__traceback__)
        return
    print(text, end="", file=sys.stderr, flush=True)


def _fold(shown: traceback.TracebackException | None, seen: set[int]) -> None:
    """Folds the stack of an exception, and of those that it came from."""
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack = _Folded(shown.stack)
    for other in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        _fold(other, seen)


class _Folded(traceback.StackSummary):
    """A stack in which frames of libraries and of ours, one after the other, are one line."""

    def format(self, **options: Any) -> list[str]:
        made: list[str] = []
        for hidden, frames in groupby(self, key=lambda frame: bool(_library(frame.filename))):
            some = list(frames)
            if hidden and len(some) > 1:
                made.append(f"  {_instead_of([frame.filename for frame in some])}\n")
            else:
                made += traceback.StackSummary.from_list(some).format(**options)
        return made


_SHOWS = "(--full-traceback shows them)"
_FRAME = re.compile(r'( *)File "([^"]+)", line \d+, in ')


def _instead_of(files: list[str]) -> str:
    """The one line in place of some frames of libraries."""
    return f"... {len(files)} frames inside {' and '.join(dict.fromkeys(map(_library, files)))} {_SHOWS}"


def folded(text: str) -> str:
    """A traceback that comes as text, as that of another process does, with the frames folded as those of our own."""
    made: list[str] = []
    frames: list[tuple[str, str]] = []  # of libraries, one after the other: their files, and their lines
    indent, inside = "", False

    def close() -> None:
        several = [f"{indent}{_instead_of([f for f, _ in frames])}"]
        made.extend(several if len(frames) > 1 else [t for _, t in frames])
        frames.clear()

    for line in text.split("\n"):
        found = _FRAME.match(line)
        if found is not None:
            indent, inside = found[1], bool(_library(found[2]))
            if inside:
                frames.append((found[2], line))
                continue
        elif frames and inside and line.startswith(indent + "  "):
            frames[-1] = frames[-1][0], f"{frames[-1][1]}\n{line}"
            continue
        inside = False
        close()
        made.append(line)
    close()
    return "\n".join(made)


def is_folded(error: BaseException) -> bool:
    """Whether an exception brings another process's traceback, folded because that has explained it."""
    return _SHOWS in str(error)


def _library(file: str) -> str:
    """The library that a frame belongs to (ours are within torch); nothing for the user's own."""
    return "torch" if file.startswith(_OURS) else library_of(file)


def without_torch() -> str:
    """Where this Python has no torch, what can be done about it, and without it; else nothing."""
    try:
        if "torch" in sys.modules or importlib.util.find_spec("torch") is not None:
            return ""
    except ImportError:
        pass  # somebody's finder says so
    return (
        f"secondpass runs programs with its own Python, {sys.executable}, which has no torch: install secondpass where "
        "torch is, or torch here (`pip install torch`). `secondpass check` and `secondpass explain` do without."
    )


def die_of_interrupt() -> None:
    """A program that ends by Ctrl-C dies of the signal: shells and launchers look at that."""
    if os.name != "posix":
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def without_ours(where: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the user's program."""
    here = str(Path(__file__).resolve().parent)
    while where is not None and os.path.dirname(where.tb_frame.f_code.co_filename) == here:
        where = where.tb_next
    return where
