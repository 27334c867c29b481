# SPDX-License-Identifier: BSD-3-Clause
"""Cuts by what was seen: the path and its types decide, not the spelling."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.find.project import Project
from secondpass.remedies.prove.fork import Starter, starter

from .case import CASES

LOOP = """\
import torch

for chunk in data:
    out, kept = model(chunk, kept)
    loss = out.sum()
    loss.backward()
    optimizer.step()
"""


def path(root: str, type: str, *ways: tuple[str, str, str], scope: str = "global", function: str = "<module>") -> dict:
    return {"root": root, "scope": scope, "type": type, "ways": [list(w) for w in ways], "function": function}


def first(text: str, *paths: dict[str, Any], cause: str = "carried-state", kind: str = "detach", **facts: Any) -> str:
    """The lines that the first candidate adds."""
    stack = [{"file": "main.py", "line": facts.pop("line", 6), "function": facts.pop("function", "<module>")}]
    place = Place("main.py", stack[0]["line"], stack[0]["function"])
    finding = Finding(
        "SP103", cause, "error", "", failed=place, freed=place, used=place, built=Place("main.py", 4, "<module>"),
        carrier=Carrier("kept"), remedies=(Remedy(kind, "", target="kept", place=place),),
        facts={"paths": list(paths), "freed_stack": stack, "used_stack": stack, "loop": {"file": "main.py", "line": 3}, **facts},
    )  # fmt: skip
    found = candidates(finding, Project(sources={"main.py": text}))
    lines = found[0].diff.splitlines() if found else []
    return "\n".join(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))


@pytest.mark.parametrize(
    ("seen", "written"),
    [
        ([path("kept", "Tensor")], "    kept = kept.detach()"),
        (
            [path("kept", "tuple", ("item", "0", "Tensor")), path("kept", "tuple", ("item", "1", "Tensor"))],
            "    kept = tuple(part.detach() for part in kept)",
        ),
        (
            [path("kept", "deque", ("item", "0", "Tensor"))],
            "import secondpass\n    kept = secondpass.detach(kept)",
        ),
        (
            [path("kept", "dict", ("item", '"h"', "list"), ("item", "0", "Tensor"))],
            "import secondpass\n    kept = secondpass.detach(kept)",
        ),
        ([path("kept", "Memory", ("attribute", "h", "Tensor"))], "    kept.h = kept.h.detach()"),
        (
            [path("kept", "list", ("item", "0", "Agent"), ("attribute", "h", "Tensor"))],
            "    for part in kept:\n        part.h = part.h.detach()",
        ),
    ],
)
def test_the_type_that_was_seen_decides_how_it_is_written(seen: list[dict[str, Any]], written: str) -> None:
    assert first("kept = start\n" + LOOP.replace("import torch\n\n", "import torch\n", 1), *seen) == written


def test_only_what_was_seen_with_history_is_touched() -> None:
    text = LOOP.replace("out, kept", "other, out, kept").replace("model(chunk, kept)", "model(chunk, kept, other)")
    assert first("kept = start\n" + text.replace("import torch\n\n", "import torch\n", 1), path("kept", "Tensor")) == (
        "    kept = kept.detach()"
    )


def test_what_stays_is_cut_where_it_is_stored() -> None:
    text = """\
import torch
kept = None
for x in data:
    losses = model(x)
    if kept is None:
        kept = losses
    (losses / kept).sum().backward()
    optimizer.step()
"""
    assert first(text, path("kept", "Tensor"), line=7, stays=True) == "        kept = losses.detach()"


def test_what_is_sampled_is_cut_where_it_is_put() -> None:
    text = """\
class Memory:
    def push(self, *what):
        self.items.append(Record(*what))
for x in data:
    loss = model(memory.sample())
    loss.backward()
    optimizer.step()
"""
    seen = path(
        "memory", "Memory", ("attribute", "items", "deque"), ("item", "3", "NamedTuple"), ("attribute", "h", "Tensor")
    )
    assert "self.items.append(secondpass.detach(Record(*what)))" in first(text, seen, sampled="memory.items")


PLAYERS = """\
import torch
opt_a = torch.optim.SGD(a.parameters())
for x in data:
    code = a(x)
    loss = b(code)
    loss.backward()
    opt_b.step()
"""


def test_a_pass_stops_at_what_its_optimizer_steps_if_the_way_there_is_whole() -> None:
    owners = {"owners": ["opt_a", "opt_b"], "owners_behind": ["opt_a"]}
    wanted = '    loss.backward(inputs=[p for group in opt_b.param_groups for p in group["params"]])'
    assert first(PLAYERS, cause="step-between", kind="recompute", **owners) == wanted


def test_a_pass_does_not_stop_where_its_own_parameters_lie_behind() -> None:
    owners = {"owners": ["opt_a", "opt_b"], "owners_behind": ["opt_a", "opt_b"]}
    assert "inputs=" not in first(PLAYERS, cause="step-between", kind="recompute", **owners)


def test_a_generator_is_cut_where_it_waits() -> None:
    text = """\
import torch
def stream(cell, chunks):
    kept = None
    for chunk in chunks:
        kept = cell(chunk, kept)
        yield kept
for out in stream(cell, data):
    out.sum().backward()
"""
    stack = [{"file": "main.py", "line": 8, "function": "<module>"}]
    place = Place("main.py", 8, "<module>")
    finding = Finding(
        "SP103", "carried-state", "error", "", failed=place, freed=place, used=place,
        built=Place("main.py", 5, "stream"), carrier=Carrier("kept"),
        remedies=(Remedy("detach", "", target="kept", place=place),),
        facts={"paths": [], "freed_stack": stack, "used_stack": stack, "loop": {"file": "main.py", "line": 7}},
    )  # fmt: skip
    diffs = [c.diff for c in candidates(finding, Project(sources={"main.py": text}))]
    assert any("         yield kept\n+        kept = kept.detach()" in d for d in diffs)


def test_programs_start_from_a_process_that_has_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # with more threads it would have none to start from
    (tmp_path / "main.py").write_text(
        "import os, sys\nopen('seen', 'w').write(str('torch' in sys.modules))\nsys.exit(3)\n"
    )
    with starter() as start:
        start.settle(True, (tmp_path,))
        assert start.warm
        outcome = start(["run", "--quiet", "main.py"], tmp_path, dict(os.environ), 60.0, lambda: None)
    assert outcome[:2] == ("ended", 3)
    assert (tmp_path / "seen").read_text() == "True"


def test_a_program_with_a_module_of_that_name_starts_fresh(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").touch()
    with starter() as start:
        start.settle(True, (tmp_path,))
        assert start.warm is False
    (tmp_path / "main.py").write_text("import sys\nsys.exit(4)\n")
    assert Starter()(["run", "main.py"], tmp_path, dict(os.environ), 60.0, lambda: None)[:2] == ("ended", 4)


def test_a_generator_goes_on_behind_its_yield() -> None:
    text = (
        "def listen(model, loss_fn):\n    kept = model.rest()\n    loss = None\n    while True:\n        chunk, target = yield loss\n"
        "        guess, kept = model(chunk, kept)\n        loss = loss_fn(guess, target)\n\n\ndef main(ears):\n"
        "    for chunk in data:\n        loss = ears.send(chunk)\n        loss.backward()\n        optimizer.step()\n"
    )
    built = [{"file": "main.py", "line": 6, "function": "listen"}]
    seen = path("kept", "dict", ("item", '"h"', "Tensor"), scope="local", function="main")
    found = first(text, seen, line=13, function="main", built_stack=built, loop={"file": "main.py", "line": 11})
    assert found == "        kept = {key: value.detach() for key, value in kept.items()}"


def test_a_copy_that_ends_with_the_function_is_not_trained_in_place_of_the_callers() -> None:
    text = next(c for c in CASES if c.name == "reorder_copy_is_returned").before.replace("    return model\n", "")
    place = Place("main.py", 2, "pretrain")
    remedy = Remedy("reorder", "", target="model", place=place)
    finding = Finding("SP406", "unreached-parameter", "warning", "", place, remedies=(remedy,))
    found = candidates(finding, Project(sources={"main.py": text}))
    assert not [r for r in found if r.title == "Make the optimizer behind the exchange"]


def test_a_pass_that_is_left_out_by_count_may_be_what_is_missing() -> None:
    text = next(c for c in CASES if c.name == "other_step_in_the_other_branch").before
    text = text.replace("loss.item() < 0.1", "skipped % 2 == 1")
    place = Place("main.py", 10, "train")
    remedy = Remedy("other", "", target="opt", place=place)
    finding = Finding("SP405", "stale-gradient", "warning", "", place, remedies=(remedy,))
    assert not candidates(finding, Project(sources={"main.py": text}))
