# SPDX-License-Identifier: BSD-3-Clause
"""Every cause has a page of the same shape, whose programs do what the page says: here and on PyTorch."""

from __future__ import annotations

import gc
import json
import os
import re
import traceback

import pytest

from secondpass.causes import CAUSES, Cause

from .examples import ON_TORCH, RAISES, on_specification, programs, sections

HEADINGS = [
    "What happened",
    "Why PyTorch ...",
    "How to tell",
    "Remedies",
    "Example",
    "What people do instead, and why not",
]
# Where history got into a second pass by accident, keeping the graph is no repair.
MAY_RETAIN = {"shared-forward"}


@pytest.fixture(params=list(CAUSES))
def cause(request: pytest.FixtureRequest) -> Cause:
    return CAUSES[request.param]


def test_every_cause_is_here():
    codes = [c.code for c in CAUSES.values()]
    assert len(codes) == len(set(codes)) == 25
    assert set(RAISES) < set(CAUSES)


def test_headings(cause):
    refuses = "Why PyTorch refuses" if cause.name in RAISES else "Why PyTorch does not refuse"
    assert list(sections(cause.page)) == ["", HEADINGS[0], refuses, *HEADINGS[2:]]
    assert [name for name, text in sections(cause.page).items() if not text.strip()] == []


def test_summary_is_one_sentence(cause):
    summary = sections(cause.page)[""].strip()
    assert re.fullmatch(r"[A-Z`][^\n]*[^.\n]\.", summary)
    assert ". " not in summary


def test_size(cause):
    rows = cause.page.splitlines()
    assert 40 <= len(rows) <= 80
    assert [row for row in rows[1:] if len(row) > 79] == []


def test_remedies_are_those_of_the_cause(cause):
    assert set(re.findall(r"\*\*([\w-]+)\*\*", sections(cause.page)["Remedies"])) == set(cause.remedies)


def test_names_of_other_causes_exist(cause):
    # In pages a word in backticks with a dash in it, and nothing else, is the name of a cause.
    named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", cause.page)
    assert [name for name in named if name not in CAUSES] == []


def test_never_advises_to_retain_what_is_carried_by_accident(cause):
    advice = sections(cause.page)["Remedies"] + programs(cause)[1]
    if cause.name not in MAY_RETAIN:
        assert "retain_graph=True" not in advice


def test_the_repair_is_small(cause):
    faulty, repaired = ({row.strip() for row in text.splitlines()} for text in programs(cause))
    assert len(faulty ^ repaired) <= 8


def run(program: str, cause: Cause) -> tuple[str, int] | None:
    """Runs a program: the message and the line of what it raises."""
    if cause.name not in ON_TORCH:
        return _run(program)
    # In a process of its own, which collects nothing and ends at once: when Python collects a reducer, PyTorch waits, with the
    # interpreter locked, for a thread that wants to lock it.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            gc.disable()
            names: dict[str, object] = {}  # outlives the program
            os.write(writer, json.dumps(_run(program, names)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        said = json.load(file)
    os.waitpid(child, 0)
    return tuple(said) if said else None


def _run(program: str, names: dict[str, object] | None = None) -> tuple[str, int] | None:
    names = {} if names is None else names
    names["__name__"] = "__main__"
    try:
        exec(compile(program, "page.py", "exec"), names)
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return str(error), next(f.lineno for f in reversed(frames) if f.filename == "page.py")
    return None


@pytest.fixture(params=["secondpass.autograd", "torch"])
def adapt(request: pytest.FixtureRequest, cause: Cause):
    """How a page's program is written for one of the two."""
    module = pytest.importorskip(request.param)
    module.manual_seed(0)
    if cause.name in ON_TORCH:
        if request.param != "torch":
            pytest.skip("there is one process only")
    return on_specification if request.param != "torch" else lambda program: program


def test_the_faulty_program(cause, adapt, capsys):
    program = adapt(programs(cause)[0])
    raised = run(program, cause)
    if cause.name not in RAISES:
        assert raised is None
        return
    assert raised is not None
    message, line = raised
    assert re.search(RAISES[cause.name], message)
    assert "RuntimeError" in program.splitlines()[line - 1]  # the comment stands on the line that fails


def test_the_repaired_program(cause, adapt, capsys):
    assert run(adapt(programs(cause)[1]), cause) is None


def test_programs_are_whole_and_short(cause):
    for program in programs(cause):
        assert program.startswith("import torch\n")
        assert 5 <= len(program.splitlines()) <= 20
