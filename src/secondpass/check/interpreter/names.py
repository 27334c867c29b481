# SPDX-License-Identifier: BSD-3-Clause
"""Names: scopes, imports, built-ins."""

from __future__ import annotations

import ast
import os
from typing import Any

from .library import builtin, external
from .machine import Machine, Scope
from .values import External, Module, Unknown

__all__ = ["bind", "import_from", "import_statement", "look_up"]


class Lazy:
    """A name imported from a file of the project that has not been executed yet."""

    __slots__ = ("attr", "module")

    def __init__(self, module: Module, attr: str) -> None:
        self.module = module
        self.attr = attr


_NOTHING = object()


def look_up(m: Machine, name: str, scope: Scope) -> Any:
    """The value of a name."""
    here: Scope | None = scope
    while here is not None:
        value = here.vars.get(name, _NOTHING)
        if value is not _NOTHING:
            return _ready(m, value, here.vars, name)
        here = here.above
    names = scope.module.globals
    value = names.get(name, _NOTHING)
    if value is not _NOTHING:
        return _ready(m, value, names, name)
    value = builtin(name)
    if value is None:
        m.note_lack(name)
        return Unknown(("name", scope.module.file, name))
    return value


def _ready(m: Machine, value: Any, names: dict[str, Any], name: str) -> Any:
    if isinstance(value, Lazy):
        value = names[name] = module_attribute(m, value.module, value.attr)
    return value


def module_attribute(m: Machine, module: Module, name: str) -> Any:
    """A name of a module of the project, which is executed now if it was not yet."""
    m.execute(module)
    if name in module.globals:
        return _ready(m, module.globals[name], module.globals, name)
    below = m.project.module_file(f"{module.name}.{name}", module.file, 0)
    if below:
        return m.module(f"{module.name}.{name}", below)
    if "*" in module.globals:
        for other in module.globals["*"]:
            m.execute(other)
            if name in other.globals:
                return _ready(m, other.globals[name], other.globals, name)
    return Unknown(("module", module.file, name))


def bind(scope: Scope, name: str, value: Any, m: Machine | None = None) -> None:
    """Binds a name where Python would."""
    if scope.outside:
        if m is not None:
            m.changes.append(-1)
        how = scope.outside.get(name)
        if how == "global":
            scope.module.globals[name] = value
            return
        if how == "nonlocal":
            here = scope.above
            while here is not None:
                if name in here.vars:
                    here.vars[name] = value
                    return
                here = here.above
    scope.vars[name] = value


def import_name(m: Machine, name: str, level: int, scope: Scope) -> Any:
    """The module of an import statement: a file of the project, or a library."""
    found = m.project.module_file(name, scope.module.file, level)
    if found:
        return _brought(m, m.module(name or scope.module.name, found))
    if level:
        return Unknown(("import", name))
    return external(name) if isinstance(external(name), External) else External(name)


def _brought(m: Machine, module: Module) -> Module:
    """A module is executed when one of its names is needed; at once where others need what it enters itself into."""
    if module.state == "new" and m.project.registers(module.file):
        m.execute(module)
    return module


def import_statement(m: Machine, node: ast.Import, scope: Scope) -> None:
    """`import x`"""
    for alias in node.names:
        if alias.asname:
            bind(scope, alias.asname, import_name(m, alias.name, 0, scope))
        else:
            top = alias.name.partition(".")[0]
            bind(scope, top, _folders(m, alias.name, scope) or import_name(m, top, 0, scope))


def _folders(m: Machine, name: str, scope: Scope) -> Module | None:
    """The first part of a dotted name, where a file of the project lies in a folder that is no package, but named like one."""
    file, parts = m.project.module_file(name, scope.module.file, 0), name.split(".")
    if (
        not file
        or len(parts) == 1
        or all(m.project.module_file(".".join(parts[:n]), scope.module.file, 0) for n in range(1, len(parts)))
    ):
        return None
    last = m.module(name, file)
    folder = os.path.dirname(file)
    if os.path.basename(file) == "__init__.py":
        folder = os.path.dirname(folder)
    for count in range(len(parts) - 1, 0, -1):
        above = m.module(".".join(parts[:count]), os.path.join(folder, "__init__.py"))
        above.globals.setdefault(parts[count], last)
        last, folder = above, os.path.dirname(folder)
    return last


def import_from(m: Machine, node: ast.ImportFrom, scope: Scope) -> None:
    """`from x import y`"""
    source = import_name(m, node.module or "", node.level, scope)
    for alias in node.names:
        if alias.name == "*":
            if isinstance(source, Module):
                m.execute(source)
                for name, value in source.globals.items():
                    if not name.startswith("_"):
                        scope.vars.setdefault(name, value)
            continue
        name = alias.asname or alias.name
        if isinstance(source, Module):
            below = m.project.module_file(alias.name, source.file, 0, inside=True)
            if below and alias.name not in source.globals:
                bind(scope, name, _brought(m, m.module(f"{source.name}.{alias.name}", below)))
            else:
                bind(scope, name, Lazy(source, alias.name))
        elif file := m.project.module_file(f"{node.module or ''}.{alias.name}", scope.module.file, node.level):
            bind(scope, name, _brought(m, m.module(f"{node.module or ''}.{alias.name}".strip("."), file)))
        elif isinstance(source, External):
            bind(scope, name, external(f"{source.name}.{alias.name}"))
        else:
            bind(scope, name, Unknown(("import", node.module, alias.name)))
