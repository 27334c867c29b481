# SPDX-License-Identifier: BSD-3-Clause
"""What a failing program looks like on the screen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from secondpass.render._styled_line import cells, cropped

TWICE = """
import torch
w = torch.ones(3, requires_grad=True)
損失 = (w.exp() ** 2).sum()
損失.backward()
損失.backward()
"""
HOOK = "import sys\nsys.excepthook = lambda kind, error, where: print('mine', kind.__name__, file=sys.stderr)\n"
CHAINED = """
import torch
loss = (torch.ones(3, requires_grad=True).exp() ** 2).sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    raise ValueError("later") from error
"""


def run(folder, text, *options, **environment):
    (folder / "train.py").write_text(text, encoding="utf-8")
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "secondpass", "run", *options, "train.py"],
        cwd=folder,
        env={**plain, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    ).stderr


def test_frames_of_torch_are_one_line(tmp_path):
    shown = run(tmp_path, TWICE)
    assert 'train.py", line 6, in <module>' in shown
    assert "  ... 4 frames inside torch (--full-traceback shows them)\nRuntimeError: Trying to backward" in shown
    assert "_tensor.py" not in shown and "patched_calls.py" not in shown
    assert "SP101" in shown and "\x1b" not in shown

    # The carets stand below what they mean: the name takes four columns.
    code, carets = next((a, b) for a, b in zip(shown.split("\n"), shown.split("\n")[1:], strict=False) if "^" in b)
    assert carets.index("^") == code.index("損失")
    assert carets.count("^") == cells("損失" if "built" in carets else "損失.backward()")


def test_quiet_shows_what_python_shows(tmp_path):
    shown = run(tmp_path, TWICE, "--quiet", "--json", "report.json")
    assert shown.startswith("Traceback (most recent call last):")
    assert shown.splitlines()[-1].startswith("RuntimeError: Trying to backward")
    assert "SP101" not in shown
    assert "SP101" in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_everything_where_it_is_asked_for_and_colour_where_forced(tmp_path):
    shown = run(tmp_path, TWICE, "--full-traceback", FORCE_COLOR="1")
    assert "_tensor.py" in shown and "frames inside torch" not in shown
    assert "\x1b[1;31mSP101 repeated-backward\x1b[0m" in shown
    assert shown.count("SP101") == 1


def test_of_several_ranks_each_line_says_its_rank(monkeypatch, capsys):
    import torch.distributed as dist

    from secondpass.commands._uncaught import show

    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        hook = sys.excepthook
        dist.init_process_group()
    except ValueError as error:  # it is there already
        show(error, whole=False)
        shown = capsys.readouterr().err
        assert "[rank0]:   ... 3 frames inside torch (--full-traceback shows them)\n[rank0]: ValueError: " in shown
        show(error)
        assert "distributed_c10d.py" in capsys.readouterr().err and sys.excepthook is hook
    finally:
        dist.destroy_process_group()


@pytest.mark.slow
def test_a_program_with_a_hook_of_its_own_gets_it(tmp_path):
    shown = run(tmp_path, HOOK + TWICE)
    assert shown.strip() == "mine RuntimeError"


@pytest.mark.slow
def test_an_error_of_another_kind_is_shown_as_python_shows_it(tmp_path):
    shown = run(tmp_path, "import torch\ntorch.nn.Linear(2, 2)(torch.ones(3))")
    assert "linear.py" in shown and "frames inside torch" not in shown


@pytest.mark.slow
def test_what_an_explained_error_led_to(tmp_path):
    shown = run(tmp_path, CHAINED)
    assert "The above exception was the direct cause" in shown and "ValueError: later" in shown


@pytest.mark.slow
def test_two_statements_on_one_line_are_told_apart(tmp_path):
    text = "import torch\nh = torch.ones(3, requires_grad=True).exp()\na = h.sum(); b = (h ** 2).sum()\n"
    rows = run(tmp_path, text + "a.backward(); b.backward()\n").split("\n")
    at = next(k for k, row in enumerate(rows) if row.endswith("| a.backward(); b.backward()"))
    code, freed, used = rows[at : at + 3]
    assert freed.index("^") == code.index("a.back") and "freed" in freed
    assert used.index("^") == code.index("b.back") and "needed again" in used
    assert any("b.backward()" in row and row.endswith("failed") for row in rows)


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("損失", 4), ("e\u0301", 1), ("a\u200bb", 2), ("\uff46\uff55", 4), ("", 0)]
)
def test_columns(text, columns):
    assert cells(text) == columns


@pytest.mark.parametrize("text", ["x = 損失 + 損失 " * 20, "plain text " * 30])
@pytest.mark.parametrize("start", [0, 30, 100, 200])
def test_cropped_lines_fit(text, start):
    shown, left = cropped(text, start, 60)
    assert cells(shown) <= 60
    assert text[left + 3 :].startswith(shown.removeprefix("...").removesuffix("...")) or not left


HIDING = """
import importlib.machinery as machinery
plain = machinery.PathFinder.find_spec
machinery.PathFinder.find_spec = lambda name, *rest: None if name == "torch" else plain(name, *rest)
"""


@pytest.mark.parametrize("command", ["run", "see", "fix"])
def test_where_there_is_no_torch_it_is_said_what_can_be_done(tmp_path, command):
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    (tmp_path / "train.py").write_text("import torch\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "secondpass", command, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"with its own Python, {sys.executable}, which has no torch" in done.stdout + done.stderr
    assert "`secondpass check` and `secondpass explain` do without" in done.stdout + done.stderr
    assert not (tmp_path / "secondpass.html").exists()
