# SPDX-License-Identifier: BSD-3-Clause
"""Explaining an exception when nothing was watching."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

import secondpass

PREPARED = "net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))\n"


def failed(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[BaseException, dict[str, Any]]:
    """Runs what a cell of a notebook would have: its text, and no file."""
    text, names = PREPARED + text, {"torch": torch}
    monkeypatch.setitem(linecache.cache, "<ipython-a>", (len(text), None, text.splitlines(True), "<ipython-a>"))
    with pytest.raises(RuntimeError) as raised:
        exec(compile(text, "<ipython-a>", "exec"), names)
    return raised.value, names


@pytest.mark.parametrize("later", [False, True], ids=["at once", "the name holds another tensor by then"])
def test_one_loss_twice(monkeypatch, later):
    error, names = failed(monkeypatch, "loss = net(torch.ones(4, 3)).mean()\nloss.backward()\nloss.backward()\n")
    if later:
        names["loss"] = names["net"](torch.ones(4, 3)).mean()
    [finding] = secondpass.explain(error, show=False).findings
    assert (finding.code, finding.freed.line, finding.failed.line, finding.sure) == ("SP101", 3, 4, False)


def test_two_losses_of_one_forward(monkeypatch):
    text = "out = net(torch.ones(4, 3))\na, b = out.mean(), out.exp().sum()\na.backward()\nb.backward()\n"
    [finding] = secondpass.explain(failed(monkeypatch, text)[0], show=False).findings
    assert (finding.code, finding.freed.line, finding.failed.line) == ("SP102", 4, 5)


def test_what_is_none_of_our_business():
    report = secondpass.explain(ValueError("x"), show=False)
    assert not report.findings
    assert "ValueError is not about the life of a graph" in report.notes[0]
