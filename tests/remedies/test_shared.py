# SPDX-License-Identifier: BSD-3-Clause
"""The example cases, where they are at hand: something can be written for each fault, and it is a program."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.edit.patch import apply_edits
from secondpass.remedies.find.project import Project

ROOT = Path(os.environ.get("SECONDPASS_CASES") or Path(__file__).parents[3] / "shared" / "cases")
FOLDERS = [k.parent for k in sorted(ROOT.glob("*/key.json")) if json.loads(k.read_text())["cause"] != "clean"]


@pytest.mark.skipif(not FOLDERS, reason="the cases are not here")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_a_patch_can_be_written(folder: Path) -> None:
    key = json.loads((folder / "key.json").read_text())
    places = {w: Place(*key[w][0]) if key.get(w) else None for w in ("failed", "built", "freed")}
    name = key["carrier"][0] if key["carrier"] else ""
    remedies = tuple(Remedy(kind, kind, target=name, place=places["failed"]) for kind in key["remedy"])
    finding = Finding(
        "SP000", key["cause"], "error", "", places["failed"], Carrier(name) if name else None, places["built"],
        places["freed"], places["failed"], remedies=remedies,
    )  # fmt: skip
    found = candidates(finding, Project(folder))
    assert found
    for remedy in found:
        for file in {e.file for e in remedy.edits}:
            text = apply_edits((folder / file).read_text(), [e for e in remedy.edits if e.file == file])
            compile(text, file, "exec")
