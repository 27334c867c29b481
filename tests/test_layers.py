# SPDX-License-Identifier: BSD-3-Clause
"""The arrows of dependency between the folders, held by reading the imports.

`record`, `source`, `torchgraph` <- `autograd`, `watcher`, `causes` <- `check`, `remedies`, `render` <- `see` <- `session` <-
`commands`, `plugins`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "secondpass"

# What each folder may import of ours, inside functions as well.
MAY: dict[str, set[str]] = {
    "record": set(),
    "source": set(),
    "torchgraph": set(),
    "autograd": {"record"},
    "watcher": {"record", "source", "torchgraph"},
    "causes": {"record", "source"},
    "keeper": {"record"},
    "check": {"record", "source", "causes", "autograd"},
    "remedies": {"record", "source", "causes"},
    "render": {"record", "causes"},
    "see": {"record", "torchgraph", "watcher", "causes", "render"},
    "session": {"record", "source", "torchgraph", "watcher", "causes", "check", "remedies", "render", "see"},
    "commands": {
        "record",
        "source",
        "torchgraph",
        "watcher",
        "causes",
        "check",
        "remedies",
        "render",
        "see",
        "session",
    },
    "plugins": {"record", "render", "see", "session"},
}
# What each folder may import of others, beside the standard library; folders not named here may import anything.
OTHERS = {
    "record": set(),
    "source": set(),
    "causes": set(),
    "torchgraph": {"torch"},
    "watcher": {"torch"},
    "keeper": {"torch"},
    "autograd": {"numpy"},
    "render": {"rich"},
}


def imports(tree: ast.Module, module: list[str]) -> Iterator[tuple[str, int]]:
    """(absolute dotted name, line) of every import of a module of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = module[: len(module) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield ".".join([*base, alias.name]), node.lineno


def wrong(path: Path, text: str) -> list[str]:
    """The imports of one file that go against the arrows."""
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    # `level` counts from the package that holds the file.
    holder = parts[:-1]
    folder = parts[1]
    found = []
    for name, line in imports(ast.parse(text), holder):
        words = name.split(".")
        if words[0] == "secondpass":
            other = words[1] if len(words) > 1 else ""
            if other not in MAY or other == folder:
                continue  # the package's own small modules and names (`__version__`)
            if other not in MAY[folder]:
                found.append(f"{path.name}:{line} {folder} imports {other}")
        elif folder in OTHERS and words[0] not in sys.stdlib_module_names | OTHERS[folder]:
            found.append(f"{path.name}:{line} {folder} imports {words[0]}")
    return found


FILES = [p for folder in MAY for p in sorted((PACKAGE / folder).rglob("*.py"))]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows(path):
    assert wrong(path, path.read_text(encoding="utf-8")) == []


def test_every_folder_has_its_arrows():
    assert {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"} <= set(MAY)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("record/x.py", "from ..causes import CAUSES"),
        ("record/x.py", "from .. import causes"),
        ("record/x.py", "import secondpass.watcher.loader"),
        ("record/x.py", "import numpy as np"),
        ("causes/x.py", "def f():\n    import torch"),
        ("watcher/x.py", "def f():\n    from ..render import note"),
        ("watcher/x.py", "import rich.console"),
        ("watcher/deep/x.py", "from ...render import note"),
        ("keeper/x.py", "def f():\n    from libcst import parse_module"),
        ("render/x.py", "if True:\n    from ..commands import main"),
    ],
)
def test_the_test_can_fail(file, text):
    assert wrong(PACKAGE / file, text)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("session/x.py", "def f():\n    from ..render import note"),
        ("watcher/x.py", "import torch.nn\nimport sys\nfrom ..record import Place\nfrom . import loader"),
        ("commands/x.py", "from .. import __version__\nimport click"),
    ],
)
def test_the_test_allows_what_is_right(file, text):
    assert wrong(PACKAGE / file, text) == []


# What each folder of `check` may import of the others; the files beside the folders may import them all.
INSIDE_CHECK: dict[str, set[str]] = {
    "files": set(),
    "interpreter": {"files"},
    "torch": {"files", "interpreter"},
    "report": {"files", "interpreter"},
}


def graph_of(files: dict[str, str]) -> dict[str, set[str]]:
    """Which file imports which, by dotted names, imports for types and inside functions as well."""
    found: dict[str, set[str]] = {}
    for module, text in files.items():
        holder = module.split(".") if module + ".__init__" in files else module.split(".")[:-1]
        package = module.removesuffix(".__init__").split(".") if module.endswith(".__init__") else holder
        edges = set()
        for name, _ in imports(ast.parse(text), package):
            above = name.rpartition(".")[0]
            # `from .x import f` names a file or something in it; a package is entered through its own file.
            edges.add(next((n for n in (name, f"{name}.__init__", above, f"{above}.__init__") if n in files), ""))
        found[module] = edges - {"", module}
    return found


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of files that import each other in a circle."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = list(graph[start])
        while todo:
            if (here := todo.pop()) not in seen:
                seen.add(here)
                todo.extend(graph.get(here, ()))
        reach[start] = seen
    groups = [{other for other in graph if other in reach[one] and one in reach[other]} for one in graph]
    return [group for i, group in enumerate(groups) if group and group not in groups[:i]]


def sources(*folders: str) -> dict[str, str]:
    """The files of some folders by dotted name."""
    paths = [p for folder in folders for p in sorted((PACKAGE / folder).rglob("*.py"))]
    return {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): p.read_text("utf-8") for p in paths}


def test_no_files_of_check_import_each_other_in_a_circle():
    assert cycles(graph_of(sources("check"))) == []


def test_the_folders_of_check_point_one_way():
    graph = graph_of(sources("check"))
    wrong = [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if (mine := module.split(".")[2]) in INSIDE_CHECK
        and (theirs := other.split(".")[2]) in INSIDE_CHECK
        and theirs != mine
        and theirs not in INSIDE_CHECK[mine]
    ]
    assert wrong == []


def test_no_file_of_check_binds_names_of_another():
    assert [
        module for module, text in sources("check").items() if re.search(r"\bsys\.modules\b|\bsetattr\(", text)
    ] == []


def test_a_circle_is_seen():
    files = {
        "a.x": "from .y import f",
        "a.y": "def f():\n    from . import z",
        "a.z": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .x import g",
        "a.w": "from .x import g",
    }
    assert cycles(graph_of(files)) == [{"a.x", "a.y", "a.z"}]


def test_no_module_needs_itself():
    """No cycle among the imports outside functions: each module can be read, and loaded, after those that it needs."""
    modules = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): p for p in PACKAGE.rglob("*.py")}
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree.body = [n for n in tree.body if isinstance(n, ast.ImportFrom | ast.If)]
        found = {word for n, _ in imports(tree, name.split(".")[:-1]) for word in (n, n.rpartition(".")[0])}
        packages = {f"{n}.__init__" for n in found}
        needs[name] = (found | packages) & set(modules) - {name}
    assert list(TopologicalSorter(needs).static_order())
