# SPDX-License-Identifier: BSD-3-Clause
"""The lines that two runs are compared by, where a program has several processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from secondpass.torchgraph import Leaves
from secondpass.watcher.files import Files
from secondpass.watcher.proofline import ProofLines


def lines(monkeypatch: pytest.MonkeyPatch, rank: int | None) -> ProofLines:
    monkeypatch.setattr("secondpass.watcher.proofline.rank", lambda: rank)
    plain = torch.optim.Optimizer.__init__
    monkeypatch.setattr(torch.optim.Optimizer, "__init__", plain)  # it is followed: put back when the test ends
    return ProofLines(None, Leaves(), Files(), lambda: None)


def test_the_first_rank_writes_and_nobody_empties_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lines"
    monkeypatch.setenv("SECONDPASS_PROOF", str(file))
    for rank in (None, 0, 1):  # the launcher, then its ranks
        lines(monkeypatch, rank).on_torch(changed=rank == 1)
    assert [json.loads(line)["environment"] for line in file.read_text().splitlines()] == [False, False]
