# SPDX-License-Identifier: BSD-3-Clause
"""What is stored may come from elsewhere: from a caller, or in a record that somebody else has made."""

from __future__ import annotations

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.find.project import Project

HANDED = """\
STORE = {"loss": {}, "lr": {}}


def record(kind, step, value):
    STORE[kind][step] = value


def train(net, opt, data):
    for step, x in enumerate(data):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        record("loss", step, loss)
        record("lr", step, opt.param_groups[0]["lr"])
"""
RECORDED = """\
from collections import namedtuple

Result = namedtuple("Result", "step loss")
records = []


class Loop:
    def __init__(self, net):
        self.net = net


def keep(result):
    records.append(result)


def train(net, opt, data):
    for step, x in enumerate(data):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        keep(Result(step, loss))


train(Loop(net).net, opt, data)
"""


def added(text: str, kind: str, name: str, line: int, **facts: bool) -> list[str]:
    """The lines that each way of a remedy writes anew."""
    place = Place("main.py", line)
    remedy = Remedy(kind, kind, target=name, place=place)
    finding = Finding("SP401", "graph-leak", "warning", "", place, Carrier(name), remedies=(remedy,), facts=facts)
    ways = [w for w in candidates(finding, Project(sources={"main.py": text})) if w.kind == kind]
    return [ln[1:].strip() for w in ways for ln in w.diff.splitlines() if ln[:1] == "+" and ln[:3] != "+++"]


def test_a_number_is_taken_where_the_tensor_is_handed_over() -> None:
    assert 'record("loss", step, loss.item())' in added(HANDED, "item", 'STORE["loss"]', 5)


def test_a_record_is_made_of_tensors_without_history() -> None:
    found = added(RECORDED, "detach", "records", 13)
    assert "keep(Result(step, loss.detach()))" in found
    assert not any("Loop" in line for line in found)


TOGETHER = HANDED.replace("STORE[kind][step] = value", "STORE[kind].append((kind, value, step))")


def test_of_things_stored_together_only_those_with_history():
    assert added(TOGETHER, "item", "STORE", 5)[0] == "STORE[kind].append((kind, value.item(), step))"


ROWS = """\
class Log:
    def __init__(self):
        self.rows = []

    def row(self, key, value, when):
        self.rows.append((when, value))


class Loop:
    def __init__(self, net, log):
        self.net, self.log, self.at = net, log, 0

    def tell(self, key, worth):
        self.log.row(key, worth, self.at)

    def turn(self, opt, x):
        loss = self.net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        self.tell("loss", loss)
        self.tell("count", len(x))
"""


def test_what_is_stored_with_others_is_cut_where_it_is_handed_over_at_first() -> None:
    found = added(ROWS, "item", "loop.log.rows", 6)
    assert 'self.tell("loss", loss.item())' in found
    assert 'self.tell("count", len(x).item())' not in found


ENTERED = """\
kept = []


def keep(entry):
    kept.append(entry)


def train(net, opt, data):
    for x in data:
        action = net(x)
        keep((x, action, 1.0))
        loss = action.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def test_a_tuple_is_neither_detached_nor_a_number() -> None:
    found = added(ENTERED, "detach", "kept", 5, within=True)
    assert "keep((x, action.detach(), 1.0))" in found
    assert not any("entry." in line or "kept.detach" in line for line in found)


def test_what_collects_has_no_history_itself() -> None:
    assert not any("kept.detach" in line for line in added(ENTERED, "detach", "kept", 5))
