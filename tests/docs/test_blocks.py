# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of the README and of the documentation does what the page says."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ..faults.__main__ import _options as faults_options
from .blocks import Block, blocks, matches, pages, renewed, sessions

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# Commands that a page runs belong to the environment of the tests.
ENVIRONMENT["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), ENVIRONMENT.get("PATH", "")])


# What these show is `fix` at work, every command there being several runs of a program, or several ranks.
SLOW = {"fix.md", "guide.md", "ranks.md"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p.name in SLOW else ()) for p in pages(ROOT)],
    ids=[str(p.relative_to(ROOT)) for p in pages(ROOT)],
)
def test_page(page, tmp_path, request):
    renew = page if request.config.getoption("--update-golden") else None
    found = blocks(page.read_text(encoding="utf-8"))
    if any(block.language in ("python", "console") for block in found):
        pytest.importorskip("torch")
    for block in found:
        check(block, tmp_path, renew)
    run_python([b for b in found if b.language == "python" and not b.title], page, tmp_path)


def check(block: Block, folder: Path, page: Path | None = None) -> None:
    """One block, except for the python ones, which make one program. With a page, what it shows is renewed."""
    if block.language == "python" and block.title:
        write_file(block, folder)
    elif block.language == "console":
        check_console(block, folder, page)
    elif block.language == "sh":
        for command in block.text.splitlines():
            check_setup(command)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        pytest.importorskip("yaml").safe_load(block.text)
    else:
        assert block.language in ("python", "text", "diff", "lua"), (
            f"line {block.line}: not executed: {block.language!r}"
        )


def write_file(block: Block, folder: Path) -> None:
    ours = ROOT / block.title
    assert not ours.exists() or block.text == ours.read_text(encoding="utf-8"), (
        f"line {block.line} is not {block.title}"
    )
    target = folder / block.title
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.text, encoding="utf-8")


def run_console(command: str, folder: Path) -> list[str]:
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.rstrip().splitlines()


def check_console(block: Block, folder: Path, page: Path | None) -> None:
    for command, expected in sessions(block):
        got = run_console(command, folder)
        if page is not None:  # the truth goes into the page
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace("\n".join(expected), "\n".join(renewed(expected, got))), encoding="utf-8")
            continue
        shown = "\n".join(difflib.unified_diff(expected, got, "the page", "the truth", lineterm=""))
        assert matches(expected, got), f"line {block.line}: $ {command}\n{shown}\n(`pytest --update-golden` renews it)"


def check_setup(command: str) -> None:
    """Set-up commands are not run here, but what they name must exist."""
    words = shlex.split(command, comments=True)
    if words[:2] == ["pip", "install"]:
        for word in words[2:]:
            name, _, extras = word.rstrip("]").partition("[")
            assert name == PROJECT["project"]["name"], command
            unknown = set(filter(None, extras.split(","))) - set(PROJECT["project"]["optional-dependencies"])
            assert not unknown, f"{command}: no such extras: {unknown}"
    elif words[:3] == ["python", "-m", "tests.faults"]:
        faults_options(words[3:])
    elif words[:1] == ["make"]:
        subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
    elif shell := re.search(r"_SECONDPASS_COMPLETE=(\w+)_source secondpass", command):
        from click.shell_completion import get_completion_class

        assert get_completion_class(shell[1]), command
    else:
        assert words[:1] in ([], ["cd"], ["git"]), f"not checked: {command}"


def run_python(program: list[Block], page: Path, folder: Path) -> None:
    if not program:
        return
    # Empty lines in front make the lines of a traceback those of the page.
    text = ""
    for block in program:
        text += "\n" * (block.line - text.count("\n")) + block.text
    target = folder / f"{page.stem}_page.py"
    target.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, target], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page.name}\n{done.stdout}\n{done.stderr}"
