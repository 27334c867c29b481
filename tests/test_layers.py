# SPDX-License-Identifier: BSD-3-Clause
"""The arrows of dependency between the folders, held by reading the imports.

`record`, `source`, `torchgraph` <- `autograd`, `watcher`, `causes` <- `check`, `remedies`, `render` <- `see` <- `session` <-
`commands`, `plugins`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
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
