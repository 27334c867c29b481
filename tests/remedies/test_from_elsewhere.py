# SPDX-License-Identifier: BSD-3-Clause
"""What has to go to another function than the one that fails, by the lines that a run saw under way; and its twins."""

from __future__ import annotations

from typing import Any

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.find.project import Project

from .test_held import path

STORED = """\
import torch
from heapq import heappush


class Pool:
    def offer(self, vector):
        {put}


def main(model, pool, optimizer):
    for x in data:
        out = model(x)
        pool.offer(out)
        loss = out.mean() + pool.mean()
        loss.backward()
        optimizer.step()
"""
FILLED = """\
class Trainer:
    def prepare(self):
        for key, _, size in self.stores:
            self.made[key] = {value}

    def epoch(self):
        for name, x in self.stores:
            loss = apply(self.made[name], x).mean()
            loss.backward()
            self.opt.step()
"""
PLAYERS = """\
def round(players, it):
    for p in players:
        if {due}:
            p.differentiate()
    for p in players:
        p.opt.step()
"""
LOSSES = """\
def update(losses, opts):
    losses["pull"].backward(retain_graph=True)
    opts["pull"].step()
    losses["task"].backward()
    opts["task"].step()
"""


def found(text: str, cause: str, kind: str, name: str, line: int, **facts: Any) -> list[Remedy]:
    function = facts.pop("function", "main")
    places = {k: Place("main.py", facts.pop(k, line), function) for k in ("freed", "built")}
    place = Place("main.py", line, function)
    stack = [{"file": "main.py", "line": line, "function": function}]
    finding = Finding(
        "SP000", cause, "error", "", failed=place, used=place, **places,
        carrier=Carrier(name), remedies=(Remedy(kind, "", target=name, place=place),),
        facts={"freed_stack": stack, "used_stack": stack, **facts},
    )  # fmt: skip
    return list(candidates(finding, Project(sources={"main.py": text})))


def added(remedy: Remedy) -> list[str]:
    return [ln[1:].strip() for ln in remedy.diff.splitlines() if ln[:1] == "+" and ln[:3] != "+++" and ln[1:].strip()]


@pytest.mark.parametrize(
    ("put", "ways", "written"),
    [
        ("heappush(self.heap, Entry(1.0, vector))", [("item", "0", "Entry"), ("attribute", "v", "Tensor")], "whole"),
        ("self.heap.extend(vector)", [("item", "0", "tuple"), ("item", "0", "Tensor")], "whole"),
        ("self.heap.append(vector)", [("item", "0", "Tensor")], "tensor"),
    ],
)
def test_what_is_put_into_the_container_that_was_seen(put: str, ways: list[tuple[str, str, str]], written: str) -> None:
    seen = path("pool", "Pool", ("attribute", "heap", "list"), *ways, scope="local", function="main")
    text = STORED.format(put=put)
    value = put[put.rindex("Entry") : -1] if "Entry" in put else "vector"
    cut = f"secondpass.detach({value})" if written == "whole" else "vector.detach()"
    found_ = found(text, "stored-history", "detach", "pool.heap[0]", 14, paths=[seen])
    assert any(put.replace(value, cut) in added(r) for r in found_)


def test_another_list_is_not_the_one_that_was_seen() -> None:
    seen = path("pool", "Pool", ("attribute", "heap", "list"), ("item", "0", "Tensor"), scope="local", function="main")
    text = STORED.format(put="heappush(self.others, vector)")
    assert not any(
        "others" in ln
        for r in found(text, "stored-history", "detach", "pool.heap[0]", 14, paths=[seen])
        for ln in added(r)
    )


def slots(value: str, read: str = "self.made[name]") -> list[str]:
    stack = [{"file": "main.py", "line": 4, "function": "Trainer.prepare"}]
    text = FILLED.format(value=value).replace("self.made[name]", read)
    ways = found(
        text, "hoisted-forward", "recompute", "self.made[0]", 9, function="Trainer.epoch", built=4, built_stack=stack
    )
    return [ln for r in ways for ln in added(r)]


def test_a_slot_is_filled_again_with_the_key_that_is_asked_for() -> None:
    assert "self.made[name] = self.net(key=torch.tensor(name))" in slots("self.net(key=torch.tensor(key))")


def test_not_with_a_key_that_is_not_known_there() -> None:
    read = "sum(self.made[k] for k in names)"
    assert not any("self.made[k] =" in ln for ln in slots("self.net(torch.tensor(key))", read))


def test_not_with_what_is_not_known_there() -> None:
    assert not any("self.made[name] =" in ln for ln in slots("self.net(key, size)"))


def test_who_takes_turns_finds_no_gradient_when_it_is_not_its_turn() -> None:
    ways = found(PLAYERS.format(due="p.due(it)"), "stale-gradient", "other", "p.opt", 6, function="round")
    assert added(ways[-1]) == ["p.opt.zero_grad()"]


def test_optimizers_of_one_container_are_told_apart_by_their_keys() -> None:
    ways = found(LOSSES, "step-between", "reorder", "w", 4, function="update", freed=3, owners=['opts["pull"]'])
    own = 'losses["task"].backward(inputs=[p for group in opts["task"].param_groups for p in group["params"]])'
    assert any(own in added(r) for r in ways)
    ways = found(LOSSES, "step-between", "reorder", "w", 4, function="update", freed=3, owners=["other"])
    assert not any(own in added(r) for r in ways)


@pytest.mark.parametrize(
    ("joins", "adds", "kept"), [("scaled", False, True), ("added", False, False), ("scaled", True, False)]
)
def test_an_attempt_made_again_with_another_scale_keeps_its_graph(joins: str, adds: bool, kept: bool) -> None:
    text = "def attempt(loss, scale):\n    opt.zero_grad()\n    (scale * loss).backward()\n"
    facts = {"moves": False, "adds": adds, "looping": True, "why": {"facts": {"joins": joins}}}
    ways = found(text, "repeated-backward", "recompute", "loss", 3, function="attempt", **facts)
    assert any("retain_graph=True" in ln for r in ways for ln in added(r)) is kept


def test_what_an_iterator_holds_on_to_is_cut_itself() -> None:
    text = (
        "from itertools import accumulate\n\n\ndef train(losses):\n    for running in accumulate(losses, smooth):\n"
        "        running.backward()\n        opt.step()\n"
    )
    seen = path("running", "Tensor", scope="local", function="train")
    loop = {"file": "main.py", "line": 5}
    ways = found(text, "carried-state", "detach", "running", 6, function="train", paths=[seen], loop=loop)
    assert added(ways[-1]) == ["running.detach_()"]
    several = path("running", "list", ("item", "0", "Tensor"), scope="local", function="train")
    ways = found(text, "carried-state", "detach", "running", 6, function="train", paths=[several], loop=loop)
    assert not any("detach_()" in ln for r in ways for ln in added(r))


def test_no_optimizer_is_made_of_other_values() -> None:
    text = (
        "def replace_head(model):\n    model.head = nn.Linear(4, 5)\n\n\ndef main(data):\n    model, lr = Net(), 0.1\n"
        "    optimizer = torch.optim.Adam(model.parameters(), lr)\n    lr = 0.5\n    replace_head(model)\n    train(optimizer, lr)\n"
    )
    assert not found(text, "unreached-parameter", "reorder", "model", 2, function="replace_head")


@pytest.mark.parametrize(("condition", "again"), [("if True:\n    ", False), ("", True)])
def test_a_loss_that_is_passed_again_now_and_then_is_not_computed_twice_in_every_turn(
    condition: str, again: bool
) -> None:
    text = (
        "def step(x):\n    loss = model(x).mean()\n    loss.backward()\n    opt.step()\n    track(loss)\n\n\n"
        f"def track(loss):\n    seen.append(loss.item())\n    {condition}{'    ' if condition else ''}kick(loss)\n\n\n"
        "def kick(loss):\n    loss.backward()\n    opt.step()\n"
    )
    last = text.splitlines().index("def kick(loss):") + 2
    call = next(i for i, ln in enumerate(text.splitlines(), 1) if ln.strip() == "kick(loss)")
    lines = ((last, "kick"), (call, "track"), (5, "step"))
    stack = [{"file": "main.py", "line": n, "function": f} for n, f in lines]
    facts = {
        "used_stack": stack,
        "freed_stack": [{"file": "main.py", "line": 3, "function": "step"}],
        "moves": True,
        "looping": True,
    }
    ways = found(text, "repeated-backward", "recompute", "loss", last, function="kick", freed=3, built=2, **facts)
    assert any("model(x).mean()" in ln for r in ways for ln in added(r)) is again
