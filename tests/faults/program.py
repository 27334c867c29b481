# SPDX-License-Identifier: BSD-3-Clause
"""Programs as text, and the changes that operators make to them.

NOTE [ Marks ]
An operator says where things are by writing marks into the text that it inserts: a tagged expression is wrapped by
`tagged(text)`, a line is named by `line(field)` in front of anything that stands on it. `apply` takes the marks out again and
returns where they were, in the text as it is then: nobody counts lines.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["Edit", "Mutant", "Program", "apply", "line", "load", "tagged"]

_OPEN, _CLOSE, _LINE, _END = "\ue000", "\ue001", "\ue002", "\ue003"
_MARK = re.compile(f"{_OPEN}|{_CLOSE}|{_LINE}([a-z]+){_END}")


def tagged(text: str) -> str:
    """Marks an expression whose value carries the fault: where it was built is found by running the program."""
    return f"{_OPEN}{text}{_CLOSE}"


def line(field: str) -> str:
    """Marks the line that it stands on as an accepted answer for a field of the key."""
    return f"{_LINE}{field}{_END}"


@dataclass(frozen=True)
class Program:
    """The files of a program by their path below its folder; `main.py` is started."""

    name: str
    files: dict[str, str]

    @property
    def digest(self) -> str:
        text = "\0".join(f"{k}\0{v}" for k, v in sorted(self.files.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def kind(self) -> str:
        """The libraries that a process must have imported to start this program quickly."""
        text = "\n".join(self.files.values())
        for library in ("lightning", "pytorch_lightning", "transformers", "accelerate"):
            if re.search(rf"^\s*(import|from)\s+{library}\b", text, re.MULTILINE):
                return "transformers" if library == "accelerate" else library.removeprefix("pytorch_")
        return "torch"

    def write(self, folder: Path) -> None:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Edit:
    """Text between two offsets of a file, replaced."""

    file: str
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Mutant:
    """A changed program with what is known of it by construction."""

    operator: str
    site: str
    """Where in the host: unique together with the operator and the host."""
    program: Program
    cause: str
    """`clean` for a harmless twin."""
    host: str = ""
    error: str = "none"
    """What PyTorch says, or `none`; `any` where a twin may end as it likes."""
    remedy: tuple[str, ...] = ()
    carrier: tuple[str, ...] = ()
    tags: tuple[tuple[str, int, int, int, int], ...] = ()
    """File, line, column, last line, last column of the marked expressions."""
    lines: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    """Other causes that a reader may call it by with equal right."""
    references: tuple[Program, ...] = ()
    """Further repairs that are right, beside the host."""
    shows: str = "result"
    """How a silent fault shows in a plain run: `result` (it differs from the host's), `reference` (from that of the first
    reference: what was added is wrong, not that it was), `same` (it does not differ), `alive`, `unreached`."""
    variant: str = ""

    @property
    def name(self) -> str:
        twin = "=twin" if self.cause == "clean" else ""
        tail = f"~{self.variant}" if self.variant else ""
        return f"{self.host}/{self.operator}{twin}/{self.site}{tail}"

    def saved(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def loaded(cls, saved: dict[str, Any]) -> Mutant:
        lines = {k: tuple((f, n) for f, n in v) for k, v in saved["lines"].items()}
        tuples = {k: tuple(saved[k]) for k in ("remedy", "carrier", "also")}
        tags = tuple(tuple(t) for t in saved["tags"])
        programs = tuple(Program(**r) for r in saved["references"])
        new = {**saved, **tuples, "lines": lines, "tags": tags, "references": programs}
        return cls(**{**new, "program": Program(**saved["program"])})


def apply(program: Program, edits: Iterable[Edit]) -> tuple[Program, dict[str, Any]] | None:
    """The program with edits made and marks taken out; None where edits overlap."""
    files = dict(program.files)
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    for file, some in by_file.items():
        some.sort(key=lambda e: (e.start, e.end))
        if any(a.end > b.start for a, b in pairwise(some)):
            return None
        text = files[file]
        for edit in reversed(some):
            text = text[: edit.start] + edit.new + text[edit.end :]
        files[file] = text
    tags: list[tuple[str, int, int, int, int]] = []
    lines: dict[str, list[tuple[str, int]]] = {}
    for file, text in files.items():
        files[file] = _unmarked(file, text, tags, lines)
    if all(files[f] == program.files.get(f) for f in files):
        return None
    found = {"tags": tuple(tags), "lines": {k: tuple(v) for k, v in lines.items()}}
    return replace(program, files=files), found


def _unmarked(file: str, text: str, tags: list[Any], lines: dict[str, list[tuple[str, int]]]) -> str:
    out: list[str] = []
    row, column, at = 1, 0, 0
    open_: list[tuple[int, int]] = []
    for match in [*_MARK.finditer(text), None]:
        piece = text[at : match.start()] if match else text[at:]
        out.append(piece)
        newlines = piece.count("\n")
        # Columns as `ast` counts them: bytes of UTF-8.
        column = len(piece.rpartition("\n")[2].encode()) + (0 if newlines else column)
        row += newlines
        if match is None:
            break
        at = match.end()
        if match[0] == _OPEN:
            open_.append((row, column))
        elif match[0] == _CLOSE:
            tags.append((file, *open_.pop(), row, column))
        else:
            lines.setdefault(match[1], []).append((file, row))
    return "".join(out)


def load(folder: Path) -> Iterator[Program]:
    """The programs of a folder: single files, and folders that hold a main.py."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and path.is_file() and not path.name.startswith("_"):
            yield Program(path.stem, {"main.py": path.read_text(encoding="utf-8")})
        elif (path / "main.py").is_file():
            names = sorted(p for p in path.rglob("*.py") if "__pycache__" not in p.parts)
            yield Program(path.name, {str(p.relative_to(path)): p.read_text(encoding="utf-8") for p in names})
