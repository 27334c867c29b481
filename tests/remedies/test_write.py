# SPDX-License-Identifier: BSD-3-Clause
"""Writing: whole files, kept encodings, refusals, undo, and being killed at any moment."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from secondpass.commands._fix_screen import Screen
from secondpass.record import Finding, Place
from secondpass.remedies.edit import write as _write
from secondpass.remedies.edit.write import UNDO, Refused, undo, write
from secondpass.remedies.prove.rounds import Repair, Round
from secondpass.remedies.prove.run import Command, Run


def test_writes_and_takes_back(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 1\n")
    write(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"}, {"a.py": "x = 2\n", "b.py": "y = 2\n"})
    assert (tmp_path / "a.py").read_text() == "x = 2\n"
    assert (tmp_path / "b.py").read_text() == "y = 2\n"
    assert undo(tmp_path) == ["a.py", "b.py"]
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert not (tmp_path / UNDO).exists()


def test_keeps_permissions_encoding_and_line_endings(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    old = "# -*- coding: latin-1 -*-\r\nname = 'Grün'\r\nx = 1\r\n"
    file.write_bytes(old.encode("latin-1"))
    file.chmod(0o754)
    write(tmp_path, {"a.py": old}, {"a.py": old.replace("x = 1", "x = 2")})
    assert file.read_bytes() == old.replace("x = 1", "x = 2").encode("latin-1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o754


def test_keeps_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"\xef\xbb\xbfx = 1\n")
    write(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    assert file.read_bytes() == b"\xef\xbb\xbfx = 2\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("x = 1\n")
    (tmp_path / "a.py").symlink_to("real.py")
    write(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    assert (tmp_path / "a.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "x = 2\n"


def test_refuses_a_file_that_changed_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("changed = True\n")
    with pytest.raises(Refused, match=r"b\.py has changed since it was read"):
        write(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"}, {"a.py": "x = 2\n", "b.py": "y = 2\n"})
    assert (tmp_path / "a.py").read_text() == "x = 1\n", "nothing is written when one file is refused"
    assert not (tmp_path / UNDO).exists()


def test_refuses_what_lies_elsewhere(tmp_path: Path) -> None:
    inner = tmp_path / "work"
    inner.mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(Refused, match="outside the working directory"):
        write(inner, {"../a.py": "x = 1\n"}, {"../a.py": "x = 2\n"})


def test_refuses_what_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether the system lets us is asked of the system: a superuser may write anything.
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(_write.os, "access", lambda path, mode: False)
    with pytest.raises(Refused, match=r"a\.py is read-only"):
        write(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_undo_leaves_later_work_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    write(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    (tmp_path / "a.py").write_text("x = 3\n")
    with pytest.raises(Refused, match="changed since the repair"):
        undo(tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = 3\n"


def test_undo_without_a_repair(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nothing to undo"):
        undo(tmp_path)


def test_undo_of_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / UNDO).write_text("{")
    with pytest.raises(Refused, match="cannot be read"):
        undo(tmp_path)


@pytest.mark.parametrize("after", [0.02, 0.05, 0.1, 0.2])
def test_killed_at_any_moment_files_are_whole(tmp_path: Path, after: float) -> None:
    old, new = "x = 1\n" * 50_000, "x = 2\n" * 50_000
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(old)
    script = (
        "import sys; from pathlib import Path; from secondpass.remedies.edit.write import write\n"
        f"old, new = {'x = 1'!r} + chr(10), {'x = 2'!r} + chr(10)\n"
        "names = ['a.py', 'b.py', 'c.py']\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    write(Path(sys.argv[1]), {n: old * 50_000 for n in names}, {n: new * 50_000 for n in names})\n"
        "    write(Path(sys.argv[1]), {n: new * 50_000 for n in names}, {n: old * 50_000 for n in names})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    for name in "abc":
        assert (tmp_path / f"{name}.py").read_text() in (old, new)
    if (tmp_path / UNDO).exists():
        undo(tmp_path)
        assert len({(tmp_path / f"{n}.py").read_text() for n in "abc"}) == 1, "undo makes the files one again"


def test_what_was_stopped_half_way_is_shown_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text("a = 1\n")
    place = Place("main.py", 1)
    one = Round(Finding("SP103", "carried-state", "error", "", place, None, place, place, place))
    course = Repair(Run("ended"), Run("ended"), [one], {"main.py": "a = 1\n"}, {"main.py": "a = 2\n"}, interrupted=True)
    assert Screen(False).show(course, Command("main.py", cwd=tmp_path), write=True, json_file=None) == 130
    assert (tmp_path / "main.py").read_text() == "a = 1\n"
    assert "+a = 2" in capsys.readouterr().out
