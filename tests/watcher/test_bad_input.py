# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be run: one clear sentence, the right exit status, and no traceback of ours."""

from __future__ import annotations

import json
import os

import pytest

from .plain import both, run

RUN = ["-m", "secondpass", "run"]


def refused(folder, *arguments: str) -> str:
    """The message of a refusal."""
    result = run([*RUN, *arguments], folder)
    assert result.status == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    return result.err


def test_no_such_program(tmp_path):
    assert "no such program: train.py" in refused(tmp_path, "train.py")
    assert "say -m before its name" in refused(tmp_path, "train")


def test_folder(tmp_path):
    (tmp_path / "project").mkdir()
    assert "folder without a __main__.py" in refused(tmp_path, "project")


def test_no_such_module(tmp_path):
    assert "no module named" in refused(tmp_path, "-m", "nowhere.train")
    assert "no Python module named" in refused(tmp_path, "-m", "nowhere")


def test_notebook(tmp_path):
    (tmp_path / "a.ipynb").write_text("{}")
    message = refused(tmp_path, "a.ipynb")
    assert "is a notebook" in message
    assert "%load_ext secondpass" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(tmp_path):
    (tmp_path / "a.py").write_text("print(1)\n")
    (tmp_path / "a.py").chmod(0)
    assert "cannot read a.py" in refused(tmp_path, "a.py")


@pytest.mark.parametrize(
    "source",
    ["def f(:\n    pass\n", "x = 1\n  y = 2\n", "return 3\n", "print('open\n", "from __future__ import nothing\n"],
)
def test_syntax_error(source, tmp_path):
    (tmp_path / "a.py").write_text(source)
    both(tmp_path, "a.py").agree()


def test_null_bytes(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\n\0\n")
    result = both(tmp_path, "a.py")
    assert result.watched.status == result.plain.status == 1
    assert "null bytes" in result.watched.err


def test_json_that_cannot_be_written(tmp_path):
    (tmp_path / "a.py").write_text("print('ran')\n")
    assert "no folder" in refused(tmp_path, "--json", "nowhere/report.json", "a.py")


def test_json_that_becomes_unwritable(tmp_path):
    """Found out too late: the program's result stands, and one line says why there is no report."""
    (tmp_path / "out").mkdir()
    (tmp_path / "a.py").write_text("import os\nos.rmdir('out')\nprint('ran')\n")
    result = run([*RUN, "--json", "out/report.json", "a.py"], tmp_path)
    assert (result.status, result.out) == (0, "ran\n")
    assert result.err.splitlines() == ["secondpass: cannot write out/report.json: No such file or directory"]


def test_no_torch(tmp_path):
    """A program that imports torch where there is none gets Python's own error, and a hint; one that does not, runs."""
    (tmp_path / "block.py").write_text(
        "import sys\n\n\nclass Block:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n            raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n\n\n"
        "sys.meta_path.insert(0, Block())\n"
    )
    (tmp_path / "a.py").write_text("import block\nimport torch\n")
    pair = both(tmp_path, "a.py")
    error, _, hint = pair.watched.err.partition("\nsecondpass runs programs with its own Python")
    assert (pair.watched.status, error) == (pair.plain.status, pair.plain.err)
    assert "which has no torch" in hint
    (tmp_path / "b.py").write_text("import block\nprint('no torch needed')\n")
    result = run([*RUN, "--json", "report.json", "b.py"], tmp_path)
    assert (result.status, result.out, result.err) == (0, "no torch needed\n", "")
    assert json.loads((tmp_path / "report.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    ("version", "has", "said"),
    [("1.13.1", True, "too old"), ("99.0.0", False, "has no torch.autograd._engine_run_backward")],
)
def test_torch_that_cannot_be_watched(version, has, said, tmp_path):
    """The program runs unwatched, and one line says why."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(f"from . import autograd\n__version__ = {version!r}\n")
    body = "def _engine_run_backward(): ...\ndef _get_sequence_nr(): return 0\n" if has else ""
    (tmp_path / "torch/autograd.py").write_text(body)
    (tmp_path / "a.py").write_text("import torch\nprint(torch.__version__)\n")
    result = run([*RUN, "a.py"], tmp_path)
    assert (result.status, result.out) == (0, f"{version}\n")
    assert len(result.err.splitlines()) == 1
    assert said in result.err
