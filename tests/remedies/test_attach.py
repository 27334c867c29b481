# SPDX-License-Identifier: BSD-3-Clause
"""`attach` never raises, never touches other lines, and leaves alone what it cannot write."""

from __future__ import annotations

import gzip
import json
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from secondpass.causes import CAUSES, diagnose
from secondpass.check import Settings, read
from secondpass.record import Carrier, Finding, Place, Remedy, Trace, from_plain
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


_TWICE = """\
import torch

net = torch.nn.Linear(3, 1)
loss = net(torch.randn(4, 3)).square().mean()
grads = torch.autograd.grad(loss, list(net.parameters()))
loss.backward()
"""


def _twice(text: str, first: int, second: int, **facts: bool) -> list[str]:
    """The patches for two passes over one loss, as lines that are added."""
    given = finding("repeated-backward", "recompute", "loss", second)
    given = replace(given, freed=Place("main.py", first), facts={"looping": False, "moves": False, **facts})
    found = candidates(given, Project(None, {"main.py": text}))
    return [line[1:] for r in found for line in r.diff.splitlines() if line.startswith("+") and line[1:2] != "+"]


def test_a_look_at_gradients_keeps_the_graph_before_a_forward_is_repeated() -> None:
    lines = _twice(_TWICE, 5, 6, adds=False, asks=True)
    assert lines[0] == "grads = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)"


def test_a_gradient_is_never_added_twice() -> None:
    text = _TWICE.replace("grads = torch.autograd.grad(loss, list(net.parameters()))", "loss.backward()")
    given = replace(
        finding("repeated-backward", "other", "loss", 6),
        freed=Place("main.py", 5),
        facts={"moves": False, "adds": True},
    )
    found = candidates(given, Project(None, {"main.py": text}))
    assert [r.kind for r in found] == ["other"]


def test_a_look_after_the_step_is_not_given_another_loss() -> None:
    assert (
        _twice(_TWICE.replace("loss.backward()", "pass\nloss.backward()"), 5, 7, moves=True, adds=False, asks=True)
        == []
    )


def test_a_cut_stays_where_a_loss_was_forgotten() -> None:
    text = "import torch\n\nz = torch.ones(1, requires_grad=True)\nloss = z.detach().sum()\nloss.backward()\n"
    given = replace(finding("unreached-parameter", "keep-history", "z", 4), severity="warning")
    project = Project(None, {"main.py": text})
    assert candidates(given, project)
    assert not candidates(replace(given, facts={"forgotten": True}), project)


def test_what_is_stored_as_data_is_not_cut_after_its_first_use() -> None:
    text = """\
import torch

net, kept = torch.nn.Linear(2, 2), []
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    kept.append(net(torch.ones(2)))
    loss = net(torch.stack(kept)).sum()
    loss.backward()
    opt.step()
"""
    given = finding("stored-history", "detach", "kept[0]", 8)
    data = {"why": {"facts": {"reached only through it": 0}}}
    ways = [
        [r.title for r in candidates(f, Project(None, {"main.py": text}))] for f in (given, replace(given, facts=data))
    ]
    assert [any("crosses" in title for title in titles) for titles in ways] == [True, False]
    assert ways[1]


def test_data_of_a_whole_loop_is_detached_before_it() -> None:
    text = """\
def update(net, opt, roll):
    for _ in range(3):
        loss = (net(roll.obs) * roll.adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
    place = {"file": "main.py", "line": 5, "function": "update"}
    path = {
        "root": "roll", "scope": "local", "type": "Rollout", "ways": [["attribute", "adv", "Tensor"]], "function": "update"
    }  # fmt: skip
    facts = {"loop": {"file": "main.py", "line": 2}, "paths": [path], "freed_stack": [place], "used_stack": [place]}
    given = replace(finding("hoisted-forward", "detach", "roll.adv", 5), facts=facts)
    found = candidates(given, Project(None, {"main.py": text}))[0]
    first = text.splitlines()[0]
    assert apply_edits(text, list(found.edits)) == text.replace(first, f"{first}\n    roll.adv = roll.adv.detach()")


def test_a_network_that_others_go_on_with_is_not_exchanged() -> None:
    path = Path(__file__).parents[1] / "causes" / "programs" / "copy_trained_in_place_of_the_network.py"
    trace = from_plain(Trace, json.loads(gzip.decompress(path.with_suffix(".json.gz").read_bytes())))
    (finding,) = diagnose(trace)
    found = attach(finding, sources={path.name: path.read_text(encoding="utf-8")})
    assert [(r.kind, r.edits) for r in found.remedies] == [("reorder", ())]


@pytest.mark.parametrize(("local", "carried"), [("h", "h"), ("state", "h")], ids=["same name", "another name"])
@pytest.mark.parametrize("in_main", [False, True])
def test_a_local_of_a_function_is_another_variable_than_its_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: str, carried: str, in_main: bool
) -> None:
    loop = f"""\
{carried} = torch.zeros(2, 4)
for _ in range(3):
    {carried} = step({carried})
"""
    if in_main:
        loop = "def main():\n" + textwrap.indent(loop, "    ") + "main()\n"
    text = f"""\
import torch
cell = torch.nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(cell.parameters(), 0.1)
def step({local}):
    {local} = cell(torch.randn(2, 3), {local})
    loss = {local}.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {local}
{loop}"""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(text, encoding="utf-8")
    [found] = read([Path("train.py")], Settings(jobs=1)).findings
    [remedy] = attach(found).remedies[:1]
    added = [line for line in remedy.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    # Not where the call computes it: the loss of the same call needs its history.
    assert [line[1:].strip() for line in added] == [f"{carried} = {carried}.detach()"]
    assert remedy.safe
