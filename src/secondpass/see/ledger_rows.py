# SPDX-License-Identifier: BSD-3-Clause
"""The ledger: plain rows, one for each memory that a graph holds, to be sorted, grouped, shown and written. No torch here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from ..causes._finding import size
from ..record import Place, to_plain

__all__ = ["KEYS", "SCHEMA", "Group", "Groups", "Ledger", "Row", "container", "size"]

SCHEMA = "secondpass-ledger/1"
_ENTRY = re.compile(r"\[(?:\d+|\.\.\.)\]$")
Kind = Literal["saved", "parameter", "input", "buffer"]


class Row(NamedTuple):
    """One memory that is held for a pass (or a node whose saved tensors a pass has freed)."""

    bytes: int
    """The whole storage, each counted once; 0 where nothing is here: it was freed, or will be computed again."""
    kind: Kind
    """`saved`: the graph alone needs it. `parameter`, `buffer`, `input`: it lives elsewhere, and the graph refers to it."""
    dtype: str
    shape: tuple[int, ...]
    device: str
    op: str
    """PyTorch's name of the node that saved it first: `AddmmBackward0`."""
    slot: str
    """What the node calls it: `_saved_mat1`."""
    number: int = 0
    """The node's number: they grow in the order of creation."""
    shared: int = 0
    """How many other places of the graph hold the same memory."""
    place: Place | None = None
    module: str | None = None
    iteration: tuple[int, ...] | None = None
    """The iteration it was built in: that of the first pass after it."""
    state: Literal["alive", "freed"] = "alive"
    freed_by: int | None = None
    """Which pass freed it, counted from 1 over the whole run, where that is known."""
    holder: str | None = None
    """The path that holds it."""
    region: str | None = None
    """`checkpoint`, `offload`, `keep`, `compiled`, or `hooks` of somebody else's."""


def container(holder: str | None) -> str | None:
    """What is collected in one place has one holder: of `log[3]`, `log`."""
    return _ENTRY.sub("", holder) if holder is not None else None


def _line(row: Row) -> str | None:
    return f"{row.place.file}:{row.place.line}" if row.place is not None else None


KEYS: dict[str, Callable[[Row], str | None]] = {
    "line": _line,
    "module": lambda r: r.module,
    "op": lambda r: r.op,
    "iteration": lambda r: ".".join(map(str, r.iteration)) if r.iteration is not None else None,
    "holder": lambda r: container(r.holder),
    "region": lambda r: r.region,
    "kind": lambda r: r.kind,
    "device": lambda r: r.device,
    "dtype": lambda r: r.dtype,
}


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that have something in common."""

    name: str | None
    """What they have in common; None where that is not known."""
    bytes: int
    count: int


class _Shown:
    """What is shown as a table: in a terminal, in a notebook, as text."""

    __slots__ = ()

    def __str__(self) -> str:
        from .ledger_table import plain

        return plain(self)  # type: ignore[arg-type]

    def __rich__(self) -> Any:
        from .ledger_table import table

        return table(self)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from .ledger_table import html

        return html(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Ledger(_Shown):
    """What the graphs hold. Iterates over its rows; `print` shows it as a table."""

    rows: tuple[Row, ...] = ()
    nodes: int = 0
    """Nodes that were looked at."""
    complete: bool = True
    """False where the graph has more nodes than may be looked at: then these are the youngest."""
    notes: tuple[str, ...] = ()
    """What a reader must know beside the rows."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def total(self) -> int:
        """Bytes that go when the graphs go: parameters, buffers and inputs are not among them."""
        return sum(r.bytes for r in self.rows if r.kind == "saved")

    def by(self, key: str) -> Groups:
        """The saved bytes by "line", "module", "op", "iteration", "holder", "region", "kind", "device" or "dtype"."""
        name_of = _key(key)
        found: dict[str | None, list[int]] = {}
        for row in self.rows if key == "kind" else (r for r in self.rows if r.kind == "saved"):
            if row.state == "alive":
                entry = found.setdefault(name_of(row), [0, 0])
                entry[0] += row.bytes
                entry[1] += 1
        groups = [Group(name, *entry) for name, entry in found.items()]
        if key == "iteration":
            order: Callable[[Group], Any] = lambda g: [int(n) for n in g.name.split(".")] if g.name else []  # noqa: E731
        else:
            order = lambda g: (-g.bytes, g.name or "")  # noqa: E731
        return Groups(key, tuple(sorted(groups, key=order)), self.total)

    def sort(self, key: str = "bytes", *, reverse: bool | None = None) -> Ledger:
        """The same rows in the order of a column ("bytes", "number", "shape" or what `by` takes); bytes largest first."""
        plain = {"bytes": lambda r: r.bytes, "number": lambda r: r.number, "shape": lambda r: r.shape}
        if key in plain:
            order: Callable[[Row], Any] = plain[key]
        else:
            name_of = _key(key, *plain)
            order = lambda r: ((n := name_of(r)) is None, n or "")  # noqa: E731
        return replace(
            self, rows=tuple(sorted(self.rows, key=order, reverse=key == "bytes" if reverse is None else reverse))
        )

    def where(self, **wanted: Any) -> Ledger:
        """The rows whose columns have these values: `where(kind="saved", region="checkpoint")`."""
        unknown = [name for name in wanted if name not in (*Row._fields, *KEYS)]
        if unknown:
            raise ValueError(f"no column {unknown[0]!r}: there are {', '.join(sorted({*Row._fields, *KEYS}))}")
        rows = [r for r in self.rows if all(_value(r, name) == value for name, value in wanted.items())]
        return replace(self, rows=tuple(rows))

    def to_json(self, indent: int | None = 2) -> str:
        """The ledger as a JSON text."""
        rows = [{name: to_plain(value) for name, value in row._asdict().items()} for row in self.rows]
        data = {"schema": SCHEMA, "total": self.total, **to_plain(replace(self, rows=())), "rows": rows}
        return json.dumps(data, indent=indent, ensure_ascii=False)

    def __repr__(self) -> str:
        saved = [r for r in self.rows if r.kind == "saved" and r.state == "alive"]
        freed = len({r.number for r in self.rows if r.state == "freed"})
        gone = f", {freed} freed" if freed else ""
        held = f"{len(saved)} saved tensor{'' if len(saved) == 1 else 's'} behind {self.nodes} node{'' if self.nodes == 1 else 's'}"
        return f"<Ledger: {size(self.total)} in {held}{gone}>"


@dataclass(frozen=True, slots=True)
class Groups(_Shown):
    """Saved bytes by one thing. Iterates over its groups, `groups["net.0"]` gives one; `print` shows it as a table."""

    key: str
    groups: tuple[Group, ...]
    total: int

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __getitem__(self, name: str | None) -> Group:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def to_json(self, indent: int | None = 2) -> str:
        """The groups as a JSON text."""
        return json.dumps({"schema": SCHEMA, **to_plain(self)}, indent=indent, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"<Ledger by {self.key}: {size(self.total)} in {len(self.groups)} group{'' if len(self.groups) == 1 else 's'}>"


def _key(key: str, *others: str) -> Callable[[Row], str | None]:
    if key not in KEYS:
        raise ValueError(f"cannot group or sort by {key!r}: there are {', '.join((*others, *KEYS))}")
    return KEYS[key]


def _value(row: Row, name: str) -> Any:
    return KEYS[name](row) if name in KEYS and name not in Row._fields else getattr(row, name)
