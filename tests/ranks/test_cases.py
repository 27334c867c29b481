# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs on two ranks, and on four: what is found, where, and that their right twins are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from secondpass.causes import merged
from secondpass.record import Finding, from_plain

from .launch import launch

CASES = sorted(p.parent for p in (Path(__file__).parent / "cases").glob("*/main.py"))
ON_FOUR = ["two-losses-one-forward", "gradients-averaged-by-hand", "output-in-no-loss"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ranks")]


def run(ranks: int, cases: list[Path], out: Path) -> dict[int, Any]:
    words = [str(Path(__file__).parent / "driver.py"), str(out), *(str(c / "main.py") for c in cases)]
    for code, text in launch(ranks, *words):
        assert code == 0, text
    return {rank: json.loads((out / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(ranks)}


@pytest.fixture(scope="module")
def on_two(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return run(2, CASES, tmp_path_factory.mktemp("two"))


def findings(found: dict[int, Any], case: str) -> list[Finding]:
    """What the ranks have found, merged."""
    groups: dict[tuple[str, int], dict[int, Finding]] = {}
    for rank, cases in found.items():
        for plain in cases[case]["report"]["findings"]:
            finding = from_plain(Finding, plain)
            assert finding.failed is not None
            groups.setdefault((finding.code, finding.failed.line), {})[rank] = finding
    assert all(len(by_rank) == len(found) for by_rank in groups.values()), groups
    return [one for by_rank in groups.values() if (one := merged(by_rank)) is not None]


def check(found: dict[int, Any], case: Path) -> None:
    key = json.loads((case / "key.json").read_text(encoding="utf-8"))
    for cases in found.values():
        error = cases[case.name]["error"]
        assert key["error"] in error and bool(key["error"]) == bool(error), error
    told = findings(found, case.name)
    if key["cause"] == "clean":
        assert [f.message for f in told] == []
        return
    assert len(told) == 1, (told, [cases[case.name] for cases in found.values()])
    [one] = told
    assert one.cause == key["cause"]
    for role in ("built", "freed", "failed"):
        place = getattr(one, role)
        assert not key[role] or (place is not None and place.line in key[role]), (role, place)
    assert one.remedies[0].kind in key["remedy"]
    assert one.carrier is not None and one.carrier.name in key.get("carrier", ["model"])
    assert one.severity == ("error" if key["error"] else "warning")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_on_two_ranks(case: Path, on_two: dict[int, Any]) -> None:
    check(on_two, case)


def test_the_patch_sends_the_sum_through(on_two: dict[int, Any]) -> None:
    for case in ("two-losses-one-forward", "heads-one-by-one"):
        [one] = findings(on_two, case)
        assert ".mean()).backward()" in one.remedies[0].diff or "(loss + penalty).backward()" in one.remedies[0].diff


def test_names_what_was_left_out(on_two: dict[int, Any]) -> None:
    [twice] = findings(on_two, "heads-one-by-one")
    assert "it had left out `dates`" in twice.message
    [open_] = findings(on_two, "output-in-no-loss")
    assert open_.message.startswith("`dates`, output of `model`, went into no loss")
    assert open_.facts["waiting"] == ["dates.weight", "dates.bias"]


def test_what_another_iteration_may_use_is_not_frozen(on_two: dict[int, Any]) -> None:
    [passed_over] = findings(on_two, "layers-passed-over")
    assert passed_over.remedies[0].title == "give `model` find_unused_parameters=True"
    [never] = findings(on_two, "output-in-no-loss")
    assert any("freeze it" in r.title for r in never.remedies)


def test_on_four_ranks(tmp_path: Path) -> None:
    cases = [c for c in CASES if c.name in ON_FOUR]
    found = run(4, cases, tmp_path)
    for case in cases:
        check(found, case)
