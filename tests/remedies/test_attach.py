# SPDX-License-Identifier: BSD-3-Clause
"""`attach` never raises, never touches other lines, and leaves alone what it cannot write."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondpass.causes import CAUSES
from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import attach, candidates
from secondpass.remedies.edit.patch import apply_edits
from secondpass.remedies.find.project import Project

from .case import CASES


def finding(cause: str, kind: str, name: str, line: int, file: str = "main.py") -> Finding:
    place = Place(file, line)
    return Finding(
        "SP",
        cause,
        "error",
        "",
        place,
        Carrier(name),
        place,
        place,
        place,
        remedies=(Remedy(kind, kind, target=name, place=place),),
    )


@pytest.mark.parametrize("text", ["", "x =", "def f(:\n  pass\n", "\x00", "for i in range(3):\n    x = x + i\n"])
@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_any_cause_on_any_text(text: str, cause: str) -> None:
    for kind in CAUSES[cause].tried:
        given = finding(cause, kind, "x", 2)
        found = attach(given, sources={"main.py": text})
        assert [r.kind for r in found.remedies] == [kind]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    given = finding("carried-state", "detach", "h", 3, "gone.py")
    assert attach(given, root=tmp_path) == given


def test_an_unknown_kind_stays_as_it_is() -> None:
    given = finding("carried-state", "pray", "h", 1)
    assert attach(given, sources={"main.py": "h = 1\n"}) == given


def test_titles_and_reasons_of_the_cause_are_kept() -> None:
    case = next(c for c in CASES if c.name == "detach_lstm_tuple")
    remedy = Remedy(
        "detach", "the cause's own words", why="the cause's reason", target="state", place=case.finding.failed
    )
    given = Finding(
        **{
            f: getattr(case.finding, f)
            for f in ("code", "cause", "severity", "message", "failed", "carrier", "built", "freed", "used")
        },
        remedies=(remedy,),
    )
    found = attach(given, sources={"main.py": case.before}).remedies[0]
    assert (found.title, found.why) == (remedy.title, remedy.why)
    assert found.diff.startswith("--- a/main.py")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_candidate_is_a_program_and_no_two_are_alike(case) -> None:
    found = candidates(case.finding, Project(sources={"main.py": case.before}))
    texts = [apply_edits(case.before, list(r.edits)) for r in found]
    assert len(set(texts)) == len(texts)
    for text in texts:
        compile(text, "main.py", "exec")


def test_edits_in_two_files(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text("def after(optimizer):\n    optimizer.zero_grad()\n")
    (tmp_path / "main.py").write_text(
        "import torch\nfrom hooks import after\nnet = torch.nn.Linear(1, 1)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=1)\n"
        "for _ in range(3):\n    loss = net(torch.ones(1)).sum()\n    loss.backward()\n    after(opt)\n    opt.step()\n"
    )
    given = finding("misplaced-zero-grad", "reorder", "", 2, "hooks.py")
    (found, *_) = candidates(given, Project(tmp_path, overlay=None)) or (None,)
    assert found is None or {e.file for e in found.edits} >= {"hooks.py"}
    project = Project(tmp_path)
    project.source("main.py")
    (found, *_) = candidates(given, project)
    assert {e.file for e in found.edits} == {"hooks.py", "main.py"}
    assert "    opt.zero_grad()\n" in apply_edits(
        (tmp_path / "main.py").read_text(), [e for e in found.edits if e.file == "main.py"]
    )
