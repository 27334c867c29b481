# SPDX-License-Identifier: BSD-3-Clause
"""A plain list or dictionary of layers becomes a container that registers them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ...source import parsed
from ..edit.source import Source
from ..find.project import Project
from ..proposal import Way

__all__ = ["registered"]

_LISTS = cst.List | cst.ListComp | cst.Tuple
_DICTS = cst.Dict | cst.DictComp


def registered(finding: Finding, attribute: str, project: Project) -> Iterator[Way]:
    """`self.layers = [...]` as `self.layers = nn.ModuleList([...])`."""
    here = project.at(finding.failed)
    value = _assigned(here[1], attribute) if here else None
    prefix = _prefix(here[0]) if here else ""
    if not here or value is None or not prefix:
        return
    source = here[0]
    if isinstance(value, _LISTS) or _called(value) in {"list", "tuple"}:
        kinds = ["ModuleList", "ParameterList"]
    elif isinstance(value, _DICTS) or _called(value) == "dict":
        kinds = ["ModuleDict", "ParameterDict"]
    else:
        return
    if "Parameter(" in source.code(value):
        kinds.reverse()
    text = source.code(value)
    text = f"({text})" if isinstance(value, cst.Tuple) and not value.lpar else text
    for kind in kinds:
        way = Way(title=f"Make `{attribute}` a `{kind}`", safe=False)
        way.why = "its parameters then belong to the module: they are trained, saved and moved to devices with it"
        way.patch.replace(source, value, f"{prefix}.{kind}({text})")
        yield way


def _assigned(statement: cst.BaseStatement, attribute: str) -> cst.BaseExpression | None:
    """The value that a statement gives to an attribute alone."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Assign):
        targets = [t.target for t in small.targets]
    elif isinstance(small, cst.AnnAssign):
        targets = [small.target]
    else:
        return None
    alone = len(targets) == 1 and isinstance(targets[0], cst.Attribute) and targets[0].attr.value == attribute
    return small.value if alone else None


def _called(value: cst.BaseExpression) -> str:
    return str(value.func.value) if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) else ""


def _prefix(source: Source) -> str:
    """What a file calls `torch.nn`; else ""."""
    tree = parsed(source.text)
    imported = tree.imported if tree else {}
    for name, home in imported.items():
        if home == "torch.nn":
            return name
    return next((f"{name}.nn" for name, home in imported.items() if home == "torch"), "")
