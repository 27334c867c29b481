# SPDX-License-Identifier: BSD-3-Clause
"""What a page says of programs that do not go through freed history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_command import secondpass

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def seen(folder, text, *options):
    (folder / "train.py").write_text(text)
    secondpass("see", "--out", "page.json", *options, "train.py", cwd=folder)
    return json.loads((folder / "page.json").read_text())


def test_a_step_between(tmp_path):
    data = seen(tmp_path, (EXAMPLES / "step_between.py").read_text())
    (finding,) = data["findings"]
    assert finding["words"]["freed"] == "changed in place"
    assert [s["cause"] for s in data["steps"]] == ["SP201"]
    # Both were built before the first pass, and neither pass came to freed history.
    critic, actor = data["graphs"]
    assert critic["built"] == actor["built"] < data["passes"][0]["at"]
    assert (critic["name"], critic["cause"]) == ("critic_loss, iteration 1", None)
    assert (actor["name"], actor["cause"]) == ("actor_loss, iteration 1", "SP201")
    nodes = data["graph"]["nodes"]
    assert {n["state"] for n in nodes} == {"alive", "leaf"} and not any(n["boundary"] for n in nodes)
    assert [n["place"]["line"] for n in nodes if n["failed"]] == [26]
    assert data["passes"][1]["freed"] is None, "what a pass frees before it fails is not known"


def test_a_loss_without_history_has_no_graph(tmp_path):
    data = seen(tmp_path, (EXAMPLES / "lost_history.py").read_text())
    assert data["findings"][0]["words"]["built"] == "history ends"
    assert data["graphs"] == [] and data["graph"] is None and len(data["passes"]) == 1


RETAINED = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    loss = net(torch.randn(32, 64)).sum()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
"""


def test_a_graph_that_is_kept_ends_when_its_name_has_another(tmp_path):
    data = seen(tmp_path, RETAINED, "--steps", "3")
    assert [f["code"] for f in data["findings"]] == ["SP402"]
    *gone, last = data["graphs"]
    assert len(gone) == 11 and all(g["dropped"] and g["freed_by"] is None and g["cause"] == "SP402" for g in gone)
    following = [p["at"] for p in data["passes"]][1:]
    assert all(g["freed"] < at for g, at in zip(gone, following, strict=True))
    assert last["freed"] is None
    after = [m for m in data["memory"] if m["at"] % 1 == 0.25 and m["at"] > 1]
    assert after and all(m["useless"] == {"SP402": m["bytes"]} for m in after)


CROSSED = """
import torch
torch.manual_seed(0)
generator, critic = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(3):
    fake = generator(torch.randn(4, 8))
    for turn in range(2):
        point = torch.randn(4, 8, requires_grad=True)
        (slope,) = torch.autograd.grad(critic(point).tanh().sum(), point, create_graph=True)
        loss = critic(fake).mean() + slope.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_what_the_pass_to_come_needs_is_not_useless(tmp_path):
    data = seen(tmp_path, CROSSED)
    assert [f["carrier"]["name"] for f in data["findings"]] == ["fake"]
    # `fake` was there before the pass of the penalty, and the pass of the loss needs it.
    assert max(m["holder"].get("fake", 0) for m in data["memory"]) > 0
    assert all(not m["useless"] for m in data["memory"])


LONG = """
import torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3000):
    optimizer.zero_grad()
    (w ** 2).sum().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_long_run_counts_what_it_does_not_show(tmp_path):
    data = seen(tmp_path, LONG, "--steps", "2")
    assert data["counts"] == {"passes": 3000, "steps": 3000}
    numbers = [p["number"] for p in data["passes"]]
    assert len(numbers) < 3000 and numbers[0] == 1 and numbers[-1] == 3000
    assert numbers == sorted(set(numbers))
    assert "The program made 3000 passes" in data["notes"][0]


def test_what_nothing_leads_to_any_more_is_not_alive(tmp_path):
    data = seen(tmp_path, RETAINED, "--steps", "12")
    saved = [r for r in data["ledger"] if r["kind"] == "saved"]
    alive = [r for r in saved if r["state"] == "alive"]
    assert {r["iteration"][0] for r in alive} == {12}, "the last pass kept its graph, and the ones before have gone"
    assert all(r["freed_by"] is None for r in saved)
