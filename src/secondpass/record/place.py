# SPDX-License-Identifier: BSD-3-Clause
"""Where something stands in the user's source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CELL", "Place"]

CELL = "Cell In["
"""What the file of a place begins with that stands in a cell of a running session: as IPython writes it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file, a 1-based line (in a notebook: of its cell), and the function around it."""

    file: str
    line: int
    function: str = ""
    cell: int | None = None
    """In a notebook: the number of the cell, from 1, cells of every kind counted."""

    @property
    def where(self) -> str:
        """`train.py:41`, `train.ipynb:cell 3:4`, or `Cell In[3], line 4` of a session that is running."""
        if self.file.startswith(CELL):
            return f"{self.file}, line {self.line}"
        return f"{self.file}:{self.line}" if self.cell is None else f"{self.file}:cell {self.cell}:{self.line}"

    @property
    def run(self) -> int:
        """The number of the cell of a running session, by which cells follow each other; 0 for everything else."""
        number = self.file.removeprefix(CELL).removesuffix("]") if self.file.startswith(CELL) else ""
        return int(number) if number.isdigit() else 0

    def __str__(self) -> str:
        return f"{self.where} in {self.function}" if self.function else self.where
