# SPDX-License-Identifier: BSD-3-Clause
"""A sum that forwards add to, kept in an attribute; what is reported of a forward that is repeated."""

from __future__ import annotations

import pytest

from .test_odd import repaired, source

FORWARD = """
class Net(Module):
    def __init__(self):
        self.extra = 0.0

    def forward(self, x):
{body}
        return x

def run(net):
    for x in xs:
        loss = net(x) + net.extra
        loss.backward()
"""
LOOP = """\
        for layer in self.layers:
            x, term = layer(x)
            self.extra = self.extra + term"""
TWICE = """\
        self.extra += first(x)
        self.extra += second(x)"""


@pytest.mark.parametrize("body", [LOOP, TWICE])
def test_every_forward_starts_its_sum_anew(body: str) -> None:
    text = FORWARD.format(body=body)
    failed = text.splitlines().index("        loss.backward()") + 1
    new = repaired(text, "other", "accumulated-loss", "self.extra", failed=failed)
    assert new == text.replace(body, "        self.extra = 0.0\n" + body)


def test_what_is_reported_of_a_forward_that_is_repeated_stays_what_it_was() -> None:
    text = source(
        """
        def fit(net, sam, data):
            seen = 0.0
            for x, y in data:
                loss = mse(net(x), y)
                loss.backward()
                sam.first_step()
                loss.backward()
                sam.second_step()
                seen += loss.item()
            return seen
        """
    )
    new = repaired(text, "recompute", "repeated-backward", "loss", freed=5, failed=7, built=4)
    assert "        loss_again = mse(net(x), y)\n        loss_again.backward()\n" in new
    assert "seen += loss.item()" in new


BEGUN = """
class Net(Module):
    def __init__(self):
        self.extra = 0.0

    def begin(self):
        \"\"\"From here on anew.\"\"\"
        self.extra = 0.0
{more}
    def term(self, x):
        self.extra = self.extra + self.of(x)
        return self.extra

def run(net):
    for epoch in range(3):
        net.begin()
        for x in xs:
            loss = mse(net(x)) + net.term(x)
            loss.backward()
"""


@pytest.mark.parametrize("more", ["", "        self.best = 0.0\n", "        self.load()\n"])
def test_a_method_that_begins_nothing_else_is_called_in_every_turn(more: str) -> None:
    text = BEGUN.format(more=more)
    failed = text.splitlines().index("            loss.backward()") + 1
    new = repaired(text, "other", "accumulated-loss", "self.extra", failed=failed)
    assert ("            net.begin()\n            loss = " in new) == (not more)
