# SPDX-License-Identifier: BSD-3-Clause
"""Causes are found in the specification's traces: of the pages' programs, of others like them, and not of clean ones.

The first line of a program below cases/ says what is to be found, and which names may be its carrier. A comment
`#! built` (freed, failed) stands on the lines that the finding may point at.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from secondpass.causes import CAUSES, diagnose
from secondpass.record import Finding, Trace

from .examples import FOUND_AS, ON_TORCH, RAISES, on_specification, programs

torch = pytest.importorskip("secondpass.autograd")

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


def traced(path: Path) -> Trace:
    """What the specification says of a program's run."""
    torch.manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        watched = torch.trace()
        try:
            with watched:
                exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
        except RuntimeError as error:
            if not hasattr(error, "kind"):
                raise  # not an error of the graph's
        return watched.trace


def said(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{f.code} {f.cause}: {f.message}" for f in findings]


@pytest.mark.parametrize("name", [name for name in CAUSES if name not in ON_TORCH])
def test_a_page_is_about_its_own_cause(name, tmp_path, capsys):
    faulty, repaired = map(on_specification, programs(CAUSES[name]))
    # Names of their own, because the standard library's cache of lines goes by name.
    with_fault, without = tmp_path / f"{name}_faulty.py", tmp_path / f"{name}_repaired.py"
    with_fault.write_text(faulty, encoding="utf-8")
    without.write_text(repaired, encoding="utf-8")

    [finding] = diagnose(traced(with_fault))
    assert finding.cause == FOUND_AS.get(name, name)
    assert finding.code == CAUSES[finding.cause].code
    assert finding.severity == ("error" if name in RAISES else "warning")
    if name in RAISES:
        assert finding.failed is not None
        assert "RuntimeError" in faulty.splitlines()[finding.failed.line - 1]
    assert said(diagnose(traced(without))) == []


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path, capsys):
    text = path.read_text(encoding="utf-8")
    cause, _, names = text.splitlines()[0].removeprefix("# ").partition(": ")
    found = diagnose(traced(path))
    if cause == "clean":
        assert said(found) == []
        return
    [finding] = found
    assert said(found)[0].startswith(f"{CAUSES[cause].code} {cause}: ")
    for role in ("built", "freed", "failed"):
        lines = [n for n, row in enumerate(text.splitlines(), 1) if re.search(rf"#!.*\b{role}\b", row)]
        place = getattr(finding, role)
        if lines:
            assert place is not None, role
            assert (place.file, place.line in lines) == (path.name, True), f"{role}: {place}"
    if names:
        assert finding.carrier is not None
        assert finding.carrier.name in names.split()
    assert {r.kind for r in finding.remedies} <= {
        *CAUSES[cause].remedies,
        *CAUSES[finding.facts.get("swallowed", cause)].remedies,
    }
    assert finding.remedies


def test_every_cause_has_a_case_beside_its_page():
    shown = {path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(":")[0] for path in CASES}
    assert shown == {*CAUSES, "clean"} - ON_TORCH - set(FOUND_AS)


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_cases_behave_the_same_on_torch(path, capsys):
    pytest.importorskip("torch")
    source = path.read_text(encoding="utf-8")
    outcomes = []
    for text in (source, source.replace("import secondpass.autograd as torch", "import torch")):
        try:
            exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
            outcomes.append("")
        except RuntimeError as error:
            outcomes.append(next(t for t in {*RAISES.values()} if t in str(error)))
    assert outcomes[0] == outcomes[1]
