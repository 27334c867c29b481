# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that are collected between passes and never walked: told where it is certain, and only there."""

from __future__ import annotations

import textwrap

import pytest

from ..running import forked

PROGRAM = """
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def evaluate(batches):
        {mode}
        kept, total = [], 0.0
        for x in batches:
            {body}
        return kept, total


    batches = list(torch.randn(20, 4, 3))
    for epoch in range(3):
        model.train()
        for x in batches[:6]:
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
        evaluate(batches)
"""
TOLD = {
    "a list": ("model.eval()", "kept.append(model(x).mean())"),
    "a name first": ("model.eval()", "loss = model(x).mean(); kept.append(loss)"),
    "a sum": ("model.train(False)", "total += model(x).mean()"),
}
SILENT = {
    "numbers": ("model.eval()", "kept.append(model(x).mean().item())"),
    "detached": ("model.eval()", "total += model(x).mean().detach()"),
    "not recorded": ("torch.set_grad_enabled(False); model.eval()", "kept.append(model(x).mean())"),
    "no evaluation": ("pass", "kept.append(model(x).mean())"),
}


def _found(tmp_path, mode, body):
    program = textwrap.dedent(PROGRAM)
    if "set_grad_enabled" in mode:
        program = program.replace("model.train()\n", "model.train(); torch.set_grad_enabled(True)\n")
    program = program.replace("{mode}", "\n    ".join(mode.split("; "))).replace(
        "{body}", "\n        ".join(body.split("; "))
    )
    (tmp_path / "main.py").write_text(program, encoding="utf-8")
    done = forked(tmp_path, "main.py", watched=True)
    assert done.status == 0, done.err
    return done.findings


@pytest.mark.parametrize("name", TOLD)
def test_is_told(tmp_path, name):
    (finding,) = _found(tmp_path, *TOLD[name])
    assert finding["cause"] == "graph-leak"
    assert finding["carrier"]["name"] in ("kept", "total")
    assert finding["remedies"][0]["kind"] == "other"


@pytest.mark.parametrize("name", SILENT)
def test_is_not_told(tmp_path, name):
    assert _found(tmp_path, *SILENT[name]) == []
