# SPDX-License-Identifier: BSD-3-Clause
"""Programs that train only if they are told to, and networks that are imported by the names of their files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from secondpass.check import Settings, read

from .test_frameworks import found

TOLD = """
    import argparse
    import torch
    from torch import nn

    parser = argparse.ArgumentParser()
    parser.add_argument("--first", {first})
    parser.add_argument("--second", {second})
    args = parser.parse_args()
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def learn():
        kept = []
        for x in torch.randn(90, 2, 3):
            loss = net(x).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            kept.append({value})
        return kept

    if {unless}:
        print(net(torch.randn(3)))
        raise SystemExit
    if {when}:
        print(learn())
"""
FLAG = 'action="store_true"'


@pytest.mark.parametrize(
    ("first", "second", "unless", "when"),
    [
        (FLAG, FLAG, "False", "args.first"),
        (FLAG, FLAG, "args.first", "args.second"),
        ('default="test"', "type=int", "False", "args.first == 'train'"),
        ("default=0, type=int", FLAG, "False", "args.first > 0 and args.second"),
    ],
)
def test_a_program_that_is_told_to_train(tmp_path: Path, first: str, second: str, unless: str, when: str) -> None:
    def program(value: str) -> list[tuple[str, str]]:
        return found(tmp_path, TOLD.format(first=first, second=second, unless=unless, when=when, value=value))

    assert program("loss") == [("SP401", "kept.append(loss)")]
    assert program("loss.item()") == []


CALLED = """
    import torch
    from torch import nn

    class Player:
        def __init__(self, net, opt, then=None):
            self.net, self.opt, self.then = net, opt, then

        def play(self):
            for x in torch.randn(30, 2, 3):
                self.opt.zero_grad()
                self.net(x).mean().backward()
                self.opt.step()
                if self.then:
                    self.then.step()

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    Player({given}).play()
"""


@pytest.mark.parametrize(
    ("given", "codes"),
    [("net, opt", []), ("net, print, opt, opt", [])],
)
def test_more_arguments_than_a_function_takes(tmp_path: Path, given: str, codes: list[str]) -> None:
    """The last is a call that Python refuses."""
    assert [code for code, _ in found(tmp_path, CALLED.format(given=given))] == codes


GIVEN = """
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def learn({given}):
        {before}
        for x in torch.randn(30, 2, 3):
            opt.zero_grad()
            model(x).mean().backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("given", "before", "codes"), [("model", "pass", []), ("", "model = nn.Linear(3, 1)", ["SP406"])]
)
def test_a_network_that_a_function_is_given_may_be_any(
    tmp_path: Path, given: str, before: str, codes: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, GIVEN.format(given=given, before=before))] == codes


LOADER = {
    "models/__init__.py": """
        import importlib

        def build(kind):
            {load}
            return module.Model()
    """,
    "main.py": """
        from models import build

        model = build("plain")
        for _ in range(9):
            model.turn()
    """,
    "models/plain.py": """
        import torch

        class Model:
            def __init__(self):
                self.made, self.judge = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
                self.rules = [torch.optim.SGD(n.parameters(), lr=0.1) for n in (self.made, self.judge)]

            def turn(self):
                self.one()
                self.two()

            def one(self):
                self.said = self.judge(self.made(torch.randn(2, 3)).relu()).pow(2).mean()
                self.rules[1].zero_grad()
                self.said.backward({keep})
                self.rules[1].step()

            def two(self):
                self.rules[0].zero_grad()
                {again}
                self.said.backward()
                self.rules[0].step()
    """,
}


@pytest.mark.parametrize(
    "load",
    [
        "module = importlib.import_module(f'models.{kind}')",
        "module = importlib.import_module('.' + kind, 'models')",
        "name = 'models.' + kind; module = importlib.import_module(name)",
        "module = __import__('models.' + kind, fromlist=['Model'])",
    ],
)
def test_a_program_that_imports_what_trains_by_its_name(tmp_path: Path, load: str) -> None:
    def codes(keep: str, again: str) -> list[str]:
        for name, text in LOADER.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            filled = dedent(text).replace("{load}", load).replace("{keep}", keep).replace("{again}", again)
            file.write_text(filled, "utf-8")
        report = read([tmp_path], Settings(jobs=1))
        return [f.code for f in report.findings]

    assert codes("retain_graph=True", "pass") == ["SP201"]
    assert codes("", "self.said = self.judge(self.made(torch.randn(2, 3))).mean()") == []
