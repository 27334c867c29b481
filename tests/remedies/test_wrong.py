# SPDX-License-Identifier: BSD-3-Clause
"""Repairs that end well and train something else are refuted; those that are right are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from secondpass.record import Proof, Remedy
from secondpass.remedies.edit.patch import edits_of
from secondpass.remedies.prove.fork import Starter, starter
from secondpass.remedies.prove.judge import prove
from secondpass.remedies.prove.run import Command, Run, mirror, run

from .wrong import PROGRAMS, Broken, Patch

pytest.importorskip("torch")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wrong")]
RIGHT = [(n, p) for n, broken in PROGRAMS.items() for p in broken.right]
WRONG = [(n, p) for n, broken in PROGRAMS.items() for p in broken.wrong]


@pytest.fixture(scope="module")
def warm() -> Iterator[Starter]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        with starter() as found:
            found.settle(True, ())
            yield found


@pytest.fixture(scope="module")
def broken_runs() -> dict[str, tuple[Command, Run]]:
    return {}


def proof(
    name: str, broken: Broken, patch: Patch, warm: Starter, known: dict[str, tuple[Command, Run]], folder: Path
) -> Proof:
    if name not in known:
        (folder / "main.py").write_text(broken.text)
        command = replace(Command("main.py", (), False, folder), starter=warm)
        with mirror(command, {}) as root:
            known[name] = command, run(command, root=root)
    command, before = known[name]
    finding = before.error
    assert finding is not None, before.stderr
    new = patch.apply(broken.text)
    remedy = Remedy(patch.kind, "", edits=edits_of("main.py", broken.text, new))
    return prove(finding, remedy, before, command, {"main.py": new}, old={"main.py": broken.text}).proof


@pytest.mark.parametrize(("name", "repair"), RIGHT)
def test_right(
    name: str, repair: str, warm: Starter, broken_runs: dict[str, tuple[Command, Run]], tmp_path: Path
) -> None:
    found = proof(name, PROGRAMS[name], PROGRAMS[name].right[repair], warm, broken_runs, tmp_path)
    assert found.status == "proven", found.detail


@pytest.mark.parametrize(("name", "repair"), WRONG)
def test_wrong(
    name: str, repair: str, warm: Starter, broken_runs: dict[str, tuple[Command, Run]], tmp_path: Path
) -> None:
    found = proof(name, PROGRAMS[name], PROGRAMS[name].wrong[repair], warm, broken_runs, tmp_path)
    assert found.status == "refuted", found.detail
