# SPDX-License-Identifier: BSD-3-Clause
"""Which of several names of one tensor is said to carry it: the one that outlives the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondpass.check import Settings, read

HEAD = """\
import torch

mix = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(mix.parameters(), lr=0.1)

class Memory:
    def __init__(this):
        this.kept = torch.zeros(2, 4)
    def take(this, x):
        this.kept = torch.tanh(mix(x) + this.kept)
        return this.kept

def learn(out):
    loss = (out ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OBJECT = """
def update(net):
    out = net.take(torch.randn(2, 4))
    learn(out)
memory = Memory()
for _ in range(3):
    update(memory)
"""
METHOD = """
class Trainer:
    def __init__(own):
        own.state = torch.zeros(2, 4)
    def update(own):
        h = own.state = torch.tanh(mix(torch.randn(2, 4)) + own.state)
        learn(h)
trainer = Trainer()
for _ in range(3):
    trainer.update()
"""
DICTIONARY = """
def update(cache):
    y = cache["long_name"] = torch.tanh(mix(torch.randn(2, 4)) + cache["long_name"])
    learn(y)
store = {"long_name": torch.zeros(2, 4)}
for _ in range(3):
    update(store)
"""
RETURNED = """
def update(state):
    box = {"state": torch.tanh(mix(torch.randn(2, 4)) + state)}
    learn(box["state"])
    return box["state"]
hidden = torch.zeros(2, 4)
for _ in range(3):
    hidden = update(hidden)
"""


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (OBJECT, {"net.kept", "memory.kept", "this.kept", "self.kept"}),
        (METHOD, {"own.state", "trainer.state", "self.state"}),
        (DICTIONARY, {"cache['long_name']", 'cache["long_name"]', "store['long_name']", 'store["long_name"]'}),
        (RETURNED, {"hidden"}),  # the dictionary ends with the call
    ],
    ids=["object", "method", "dictionary", "returned"],
)
def test_what_the_caller_gave_outlives_the_call(tmp_path: Path, body: str, names: set[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(HEAD + body, encoding="utf-8")
    [found] = read([file], Settings(jobs=1)).findings
    assert found.cause == "carried-state"
    assert found.carrier is not None
    assert found.carrier.name in names
