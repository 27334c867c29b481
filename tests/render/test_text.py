# SPDX-License-Identifier: BSD-3-Clause
"""Whole messages, from findings made by hand."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import pytest

from secondpass.causes import CAUSES
from secondpass.record import Carrier, Edit, Finding, Place, Remedy, Report
from secondpass.render import color_for, note, text, width_for

from . import made

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("name", made.ALL)
def test_whole_message(name, golden):
    golden(f"render/{name}.txt", text.render(Report(findings=(made.ALL[name],)), sources=made.SOURCES))


def test_whole_note(golden):
    golden("render/note.txt", note(made.CARRIED, sources=made.SOURCES))


def test_whole_report_of_several(golden):
    report = Report(findings=(made.LEAK, made.BARE), notes=("data.py could not be read: it is not UTF-8",))
    golden("render/several.txt", text.render(report, sources=made.SOURCES))


def test_what_is_stored_is_marked_and_no_pass_beside_it():
    line = "loss.backward(); optimizer.step(); losses.append(loss)"
    leak = replace(made.LEAK, failed=Place("train.py", 1))
    shown = text.render(Report(findings=(leak,)), sources={"train.py": line}).splitlines()
    code, carets = next((a, b) for a, b in pairwise(shown) if "^" in b)
    assert carets.index("^") == code.index("losses.append")


def test_nothing_to_say_is_the_empty_text():
    assert text.render(Report()) == ""


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", made.ALL)
def test_lines_fit(name, width):
    shown = text.render(Report(findings=(made.ALL[name],)), sources=made.SOURCES, width=width)
    # An edit is there to be copied, so it is shown whole.
    long = [row for row in shown.splitlines() if len(row) > width and not re.match(r"\s+\d* ?[-+]", row)]
    assert long == []


@pytest.mark.parametrize("name", made.ALL)
def test_colour_changes_only_colour(name):
    report = Report(findings=(made.ALL[name],))
    painted = text.render(report, sources=made.SOURCES, color=True)
    assert ANSI.search(painted)
    assert ANSI.sub("", painted) == text.render(report, sources=made.SOURCES)


def test_no_colour_unless_asked():
    assert not ANSI.search(text.render(Report(findings=(made.CARRIED,)), sources=made.SOURCES))


class Terminal:
    def __init__(self, tty):
        self.tty = tty

    def isatty(self):
        return self.tty


@pytest.mark.parametrize(
    ("tty", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # the convention: an empty value counts as absent
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals(monkeypatch, tty, environment, expected):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert color_for(Terminal(tty)) is expected


def test_a_closed_stream_gets_no_colour(tmp_path):
    stream = (tmp_path / "out").open("w")
    stream.close()
    assert color_for(stream) is False


def test_a_note_needs_neither_rich_nor_torch():
    code = (
        "import sys; sys.modules['rich'] = None; sys.modules['torch'] = None\n"
        "from secondpass.record import Finding; from secondpass.render import note\n"
        "print(note(Finding('SP101', 'repeated-backward', 'error', 'twice')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "SP101 repeated-backward: twice" in done.stdout


def test_source_is_read_from_the_disk(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\ny.backward()\n")
    monkeypatch.chdir(tmp_path)
    shown = note(Finding("SP101", "repeated-backward", "error", "twice", failed=Place("a.py", 2)))
    assert "     2 | y.backward()\n       | ^^^^^^^^^^^^ fails here" in shown


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"# coding: no-such-coding\n", b""])
def test_source_that_cannot_be_read_is_left_out(tmp_path, monkeypatch, content):
    (tmp_path / "a.py").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    shown = note(Finding("SP101", "repeated-backward", "error", "twice", failed=Place("a.py", 2)))
    assert "a.py:2" in shown
    assert "fails here" in shown


def test_long_edits_are_cut_short():
    new = "\n".join(f"line_{i} = {i}" for i in range(40))
    finding = replace(made.BARE, remedies=(Remedy("other", "Many lines", edits=(Edit("nowhere.py", 3, "", new),)),))
    shown = note(finding)
    assert "line_23" in shown
    assert "line_24" not in shown
    assert "16 more lines" in shown


def test_an_edit_shows_only_what_changes():
    old = "\n".join("abcdef")
    finding = replace(
        made.BARE, remedies=(Remedy("other", "T", edits=(Edit("x.py", 10, old, old.replace("d", "D")),)),)
    )
    rows = [row for row in note(finding).splitlines() if re.match(r"\s+\d* [-+|]", row)]
    assert rows == ["    12 | c", "    13 - d", "       + D", "    14 | e"]


def test_edits_in_two_files_name_the_files():
    edits = (Edit("b.py", 1, "x", "y"), Edit("a.py", 5, "p", "q"))
    shown = note(replace(made.BARE, remedies=(Remedy("other", "T", edits=edits),)))
    assert shown.index("--> a.py") < shown.index("--> b.py")


def test_source_of_a_notebook_cell():
    code = "x.backward()\n"
    linecache.cache["<cell 1>"] = (len(code), None, [code], "<cell 1>")
    shown = note(Finding("SP101", "repeated-backward", "error", "twice", failed=Place("<cell 1>", 1)))
    assert "     1 | x.backward()" in shown


def test_what_retain_graph_would_do_is_said_wherever_pytorch_proposes_it():
    assert [c.name for c in CAUSES.values() if c.code.startswith(("SP1", "SP2")) and not c.instead] == ["silent-reuse"]


def test_two_places_of_a_line_that_is_too_long_are_both_shown():
    line = "state = advance(state, " + "one_more_argument, " * 5 + "last); loss = state.sum(); loss.backward()"
    place = Place("a.py", 1, "")
    finding = Finding(
        "SP103", "carried-state", "error", "...", failed=place, carrier=Carrier("state"), built=place, used=place
    )
    rows = text.render(Report(findings=(finding,)), width=60, sources={"a.py": line}).splitlines()
    shown = [k for k, row in enumerate(rows) if row.startswith("     1 |")]
    assert len(shown) == 2 and all(len(row) <= 60 for row in rows)
    for at, words in zip(shown, ("state", "loss.backward()"), strict=True):
        start = rows[at + 1].index("^")
        assert rows[at][start:].startswith(words)


def test_what_stands_between_two_edits_is_shown_once():
    edits = (Edit("a.py", 2, "", "first()"), Edit("a.py", 3, "", "second()"))
    remedy = Remedy("reorder", "Do it", edits=edits)
    finding = Finding("SP201", "step-between", "error", "...", remedies=(remedy,))
    rows = text.render(Report(findings=(finding,)), width=60, sources={"a.py": "one()\ntwo()\nthree()\n"}).splitlines()
    assert [row.split(maxsplit=1)[-1] for row in rows if "()" in row] == [
        "| one()", "first()", "| two()", "second()", "| three()"
    ]  # fmt: skip


def test_a_narrow_terminal_is_filled_and_nothing_else_is(monkeypatch):
    class Terminal:
        def fileno(self):
            return 1

    for columns, width in ((200, 80), (60, 60), (20, 50), (0, 80)):
        monkeypatch.setattr(os, "get_terminal_size", lambda fd, c=columns: os.terminal_size((c, 24)))
        assert width_for(Terminal()) == width
    monkeypatch.undo()
    assert width_for(StringIO()) == 80
