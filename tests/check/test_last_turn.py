# SPDX-License-Identifier: BSD-3-Clause
"""Loops of which nobody can tell how long they are, whose turns ask whether they are the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_frameworks import found

SHARED = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    net = torch.nn.Linear(4, 1)
    first = torch.nn.Linear(4, 4)
    opt = torch.optim.SGD([*net.parameters(), *first.parameters()], lr=0.1)
    loader = DataLoader(TensorDataset(torch.load("x.pt")), batch_size=3)
    for epoch in range(3):
        scale = first(torch.randn(4)).sum()
        opt.zero_grad()
        for {number}, (x,) in enumerate({over}):
            loss = (net(x) * scale).mean()
            if {ends}:
                loss.backward()
                opt.step()
            else:
                loss.backward(retain_graph=True)
"""


@pytest.mark.parametrize(
    ("number", "over", "ends"),
    [
        ("i", "loader", "i == len(loader) - 1"),
        ("i", "loader", "not i + 1 < len(loader)"),
        ("i", "loader", "len(loader) <= i + 1"),
        ("i", "loader, 1", "i == len(loader)"),
    ],
)
def test_the_graph_is_kept_until_the_last_turn(tmp_path: Path, number: str, over: str, ends: str) -> None:
    assert found(tmp_path, SHARED.format(number=number, over=over, ends=ends)) == []


@pytest.mark.parametrize(
    ("over", "ends"),
    [("loader", "i == len(loader) - 2"), ("loader, 1", "i == len(loader) - 1"), ("loader", "i < len(loader) - 1")],
)
def test_the_graph_is_freed_before_the_last_turn(tmp_path: Path, over: str, ends: str) -> None:
    source = SHARED.format(number="i", over=over, ends=ends)
    assert [code for code, _ in found(tmp_path, source)] == ["SP104"]


ROWS = """
    import sys
    import torch

    net = torch.nn.Linear(4, 1)

    def gradients(values, model):
        seen = []
        for t in range({first}, {limit}):
            model.zero_grad()
            if {on}:
                values[t].backward(retain_graph=True)
            else:
                values[t].backward()
            seen.append(torch.cat([p.grad.view(-1) for p in model.parameters()]))
        return seen

    n = int(sys.argv[1])
    for _ in range(3):
        gradients(net(torch.randn(n, 4)).sum(1), net)
"""


@pytest.mark.parametrize(
    ("first", "limit", "on"),
    [("0", "values.shape[0]", "t < values.shape[0] - 1"), ("0", "n - 1", "t != n - 2"), ("1", "n", "n - t > 1")],
)
def test_rows_of_one_graph(tmp_path: Path, first: str, limit: str, on: str) -> None:
    assert found(tmp_path, ROWS.format(first=first, limit=limit, on=on)) == []


def test_rows_whose_graph_is_freed_at_once(tmp_path: Path) -> None:
    source = ROWS.format(first="0", limit="values.shape[0]", on="t > values.shape[0] - 1")
    assert {code for code, _ in found(tmp_path, source)} == {"SP102"}


WRAPPED = """
    import torch

    class Slow(torch.optim.Optimizer):
        def __init__(self, base):
            self.base = base
            self.param_groups = base.param_groups

        @torch.no_grad()
        def step(self, closure=None):
            return {evaluates}

    net = torch.nn.Linear(4, 1)
    base = torch.optim.SGD(net.parameters(), lr=0.1)
    opt = Slow(base)

    def closure():
        base.zero_grad()
        loss = net(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(5):
        opt.step(closure)
"""


@pytest.mark.parametrize(("evaluates", "codes"), [("self.base.step(closure)", []), ("closure()", ["SP301"])])
def test_who_evaluates_a_closure(tmp_path: Path, evaluates: str, codes: list[str]) -> None:
    """PyTorch's own optimizers switch recording on for it."""
    assert [code for code, _ in found(tmp_path, WRAPPED.format(evaluates=evaluates))] == codes
