# SPDX-License-Identifier: BSD-3-Clause
"""Whose file it is, where packages do not stand in `site-packages`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from secondpass.watcher.files import Files
from secondpass.watcher.libraries import library_of


def made(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return str(file)


def test_a_folder_with_installers_records_holds_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked, project = tmp_path / "unpacked", tmp_path / "project"
    made(unpacked / "trainers-1.0.dist-info" / "RECORD")
    engine, own = made(unpacked / "trainers" / "engine.py"), made(project / "models" / "net.py")
    assert library_of(engine) == ""  # nobody imports from there
    library_of.cache_clear()
    monkeypatch.setattr(sys, "path", [str(project), str(unpacked), *sys.path])
    assert (library_of(engine), library_of(own)) == ("trainers", "")
    files = Files(project)
    assert (files.is_users(engine), files.is_users(own)) == (False, True)


def test_a_program_beside_what_is_installed_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "trainers-1.0.dist-info" / "RECORD")
    program, part = made(tmp_path / "train.py"), made(tmp_path / "models" / "net.py")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert Files(tmp_path).is_users(program) and Files(tmp_path).is_users(part)


def test_a_torch_where_it_was_built_is_torch_and_its_neighbours_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor, test = made(tmp_path / "torch" / "_tensor.py"), made(tmp_path / "test" / "test_autograd.py")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__=str(tmp_path / "torch" / "__init__.py")))
    assert (library_of(tensor), library_of(test)) == ("torch", "")
