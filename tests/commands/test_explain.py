# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass explain`: the page of a cause, the list of all, and what is said about a word that is neither."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from secondpass.causes import CAUSES
from secondpass.commands import main
from secondpass.record import Finding, Place, Report


def call(*arguments: str) -> Result:
    """Runs the command as a pipe would see it."""
    return CliRunner().invoke(main, ["explain", *arguments], prog_name="secondpass")


@pytest.mark.parametrize(
    "word", ["carried-state", "SP103", "sp103", "Carried_State", " carried-state ", "Carried State", "103"]
)
def test_a_cause_has_a_name_and_a_code(word):
    done = call(word)
    assert done.exit_code == 0
    assert done.stdout.startswith("# SP103 carried-state\n\nA tensor with history is carried")
    assert CAUSES["carried-state"].page in done.stdout
    assert done.stdout.endswith("run without PyTorch too: `import secondpass.autograd as torch`.\n")


@pytest.mark.parametrize("name", list(CAUSES))
def test_a_page_in_a_pipe_is_plain_text_of_80_columns(name):
    done = call(name)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    summary = CAUSES[name].page.splitlines()[0]
    assert [row for row in done.stdout.splitlines() if len(row) > 80 and row != summary] == []


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, **environment: str) -> str:
    """The same with a terminal at the other end, as far as the command can tell."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": str(columns), **environment}.items():
        monkeypatch.setenv(name, value)
    runner = CliRunner()
    with runner.isolation() as (out, *_):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        main.main(["explain", "carried-state"], prog_name="secondpass", standalone_mode=False)
        return out.getvalue().decode()


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_terminal_gets_formatted_text(monkeypatch, columns):
    text = on_a_terminal(monkeypatch, columns)
    plain = click.unstyle(text)
    assert "\x1b[" in text
    assert "## " not in plain
    assert "```" not in plain
    assert "What happened" in plain
    assert max(map(len, plain.splitlines())) <= min(columns, 80)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colour_gets_plain_text(monkeypatch, environment):
    text = on_a_terminal(monkeypatch, 80, **environment)
    assert "\x1b" not in text
    assert "## What happened" in text


def test_without_a_word_all_causes_are_listed():
    done = call()
    assert done.exit_code == 0
    rows = done.stdout.splitlines()
    assert [row.split()[:2] for row in rows if row.startswith("SP")] == [[c.code, c.name] for c in CAUSES.values()]
    assert all(len(row) <= 80 for row in rows)
    said = " ".join(done.stdout.split())
    assert [c.name for c in CAUSES.values() if c.title not in said] == []


def test_json_of_one():
    done = call("--json", "SP103")
    assert done.exit_code == 0
    cause = CAUSES["carried-state"]
    expected = {
        "code": "SP103",
        "name": "carried-state",
        "title": cause.title,
        "remedies": ["detach", "other"],
        "page": cause.page,
    }
    assert json.loads(done.stdout) == expected


def test_json_of_all():
    done = call("--json")
    assert [(c["code"], c["name"]) for c in json.loads(done.stdout)] == [(c.code, c.name) for c in CAUSES.values()]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("carried-stat", "Did you mean carried-state (SP103)?"),
        ("hoist", "Did you mean hoisted-forward (SP104)?"),
        ("SP1003", "carried-state (SP103)"),
        ("inplace", "Did you mean inplace-change (SP202)?"),
        ("xyzzy", "`secondpass explain` lists all of them."),
        ("", "`secondpass explain` lists all of them."),
    ],
)
def test_an_unknown_word(word, hint):
    done = call("--", word)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"secondpass: no cause is called {word!r}. ")
    assert hint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_beginning_of_codes():
    done = call("sp2")
    assert done.exit_code == 0
    assert [row.split()[0] for row in done.stdout.splitlines() if row.startswith("SP")] == ["SP201", "SP202"]


def test_words_of_a_compiled_region():
    done = call("This backward function was compiled with non-empty donated buffers which requires create_graph=False")
    assert done.stdout.startswith("# SP505 overwritten-output")


def test_why_a_report_says_what_it_says(tmp_path):
    facts = {"why": {"row": 6, "when": "a value of an earlier iteration", "facts": {"next": True, "store": None}}}
    finding = Finding("SP103", "carried-state", "error", "carried", failed=Place("a.py", 3), facts=facts)
    other = Finding("SP401", "graph-leak", "warning", "grows", evidence=({"what": "note", "text": "30 of them"},))
    report = tmp_path / "report.json"
    report.write_text(Report(findings=(finding, other)).to_json())
    done = call("--why", str(report))
    assert done.exit_code == 0
    assert "row 6 of the table: a value of an earlier iteration" in done.stdout
    assert "next                     yes" in done.stdout
    assert "seen: 30 of them" in done.stdout
    [reason] = json.loads(call("--json", "--why", str(report), "carried-state").stdout)
    assert (reason["row"], reason["failed"], reason["facts"]["store"]) == (6, "a.py:3", None)


@pytest.mark.parametrize("text", [None, "no JSON", "[]"])
def test_why_of_what_is_no_report(tmp_path, text):
    file = tmp_path / "report.json"
    if text is not None:
        file.write_text(text)
    done = call("--why", str(file))
    assert f"--json {file}" not in done.stderr  # whoever does what it says must not write over the file
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_message_of_pytorchs_is_a_key():
    done = call(
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors ..."
    )
    assert done.exit_code == 0
    told = [row.split()[1] for row in done.stdout.splitlines() if row.startswith("SP")]
    assert {"carried-state", "shared-forward", "repeated-backward"} <= set(told)
    assert "needless-retain" not in told
    assert call("element 0 of tensors does not require grad and does not have a grad_fn").stdout.startswith("# SP301")
    assert {c["name"] for c in json.loads(call("--json", "has been modified by an inplace operation").stdout)} == {
        "step-between",
        "inplace-change",
    }


@pytest.mark.parametrize(
    ("beginning", "cause"),
    [
        ("Trying to backward ...", "carried-state"),
        ("trying to backward\N{HORIZONTAL ELLIPSIS}", "carried-state"),
        ("one of the variables needed for gradient computation", "inplace-change"),
        ("element 0 of tensors does not require grad", "lost-history"),
    ],
)
def test_the_beginning_of_a_message_is_enough(beginning, cause):
    done = call("--json", beginning)
    assert done.exit_code == 0
    assert cause in done.stdout


def test_an_unknown_code_is_not_taken_for_another():
    done = call("SP999")
    assert done.exit_code == 2
    assert "Did you mean" not in done.stderr
    assert "lists all" in done.stderr


def test_names_of_causes_can_be_completed():
    from click.shell_completion import ShellComplete

    found = ShellComplete(main, {}, "secondpass", "_SECONDPASS_COMPLETE").get_completions(["explain"], "car")
    assert [item.value for item in found] == ["carried-state"]


def test_a_message_needs_no_quotes():
    words = "element 0 of tensors does not require grad and does not have a grad_fn".split()
    assert call(*words).stdout.startswith("# SP301 lost-history\n")


def test_an_interrupt_is_no_finding(monkeypatch):
    def interrupted(word: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("secondpass.commands.explain.find", interrupted)
    assert call("SP103").exit_code == 130
