# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass see` and `run --page`, as their user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.xdist_group("see")  # one run, many looks at it


def secondpass(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "secondpass", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "SECONDPASS_DEBUG": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    folder = tmp_path_factory.mktemp("carried")
    program = folder / "train.py"
    program.write_text((EXAMPLES / "carried_state.py").read_text())
    done = secondpass("see", "--out", "page.json", "--trace", "trace.json", "train.py", cwd=folder)
    assert done.returncode == 1, done.stderr
    return folder, done, json.loads((folder / "page.json").read_text())


def test_the_story(carried):
    _, done, data = carried
    assert "SP103 carried-state" in done.stderr
    assert "secondpass: wrote page.json" in done.stderr
    (finding,) = data["findings"]
    assert finding["code"] == "SP103" and finding["carrier"]["name"] == "hidden"
    assert "SP103 carried-state: `hidden` carries" in finding["label"]
    assert data["program"]["status"] == 1 and data["program"]["error"].startswith("RuntimeError: Trying to backward")
    assert list(data["sources"]) == ["train.py"]


def test_the_life(carried):
    data = carried[2]
    first, second = data["passes"]
    assert (first["outcome"], second["outcome"]) == ("ok", "failed")
    assert (first["iteration"], second["iteration"]) == ([1], [2])
    assert first["roots"] == ["loss"]
    assert [s["optimizer"] for s in data["steps"]] == ["optimizer"]
    old, new = data["graphs"]
    assert (old["freed_by"], old["cause"], new["freed"]) == (0, "SP103", None)
    assert data["reuses"] == [{"pass": 1, "graph": 0, "cause": "SP103"}]
    assert old["built"] < first["at"] == old["freed"] < new["built"] < second["at"]


def test_the_memory(carried):
    data = carried[2]
    begin, before, after, *_ = data["memory"]
    assert begin["at"] == data["graphs"][0]["built"] and begin["bytes"] == 0
    assert before["bytes"] == data["graphs"][0]["bytes"] > after["bytes"] == 0
    for key in ("module", "line", "op", "holder"):
        assert sum(before[key].values()) == before["bytes"]
    assert set(before["module"]) == {"cell", "readout", "(no module)"}
    assert set(before["line"]) == {"train.py:18", "train.py:19"}
    assert set(before["holder"]) == {"hidden", "loss"}


def test_the_graph(carried):
    graph = carried[2]["graph"]
    assert graph["pass"] == 1
    states = {n["state"] for n in graph["nodes"]}
    assert states == {"alive", "freed", "leaf"}
    (boundary,) = [n for n in graph["nodes"] if n["boundary"]]
    assert boundary["state"] == "freed"
    assert [n["place"]["line"] for n in graph["nodes"] if n["carrier"] == "hidden"] == [18]
    assert {n["name"] for n in graph["nodes"] if n["state"] == "leaf"} >= {"cell.weight_ih", "readout.weight"}
    assert {n["module"] for n in graph["nodes"]} >= {"cell", "readout"}
    ids = {n["id"] for n in graph["nodes"]}
    assert graph["edges"] and all(a in ids and b in ids for a, b in graph["edges"])


def test_the_ledger(carried):
    data = carried[2]
    saved = [r for r in data["ledger"] if r["kind"] == "saved" and r["iteration"] == [1]]
    assert sum(r["bytes"] for r in saved) == data["memory"][1]["bytes"]
    assert {r["freed_by"] for r in saved} == {0}
    assert {r["place"]["line"] for r in saved} == {18, 19}


def test_the_chrome_trace(carried):
    trace = json.loads((carried[0] / "trace.json").read_text())["traceEvents"]
    spans = [e for e in trace if e["ph"] == "X"]
    assert {e["name"] for e in spans} >= {
        "backward(loss)",
        "optimizer.step()",
        "iteration 2",
        "graph of loss, iteration 1",
    }
    assert all(e["dur"] > 0 and e["ts"] >= 0 for e in spans)
    assert [e["args"]["saved"] for e in trace if e["ph"] == "C"] == [m["bytes"] for m in carried[2]["memory"]]


LEAK = """
import torch
torch.manual_seed(0)
w = torch.ones(1000, requires_grad=True)
kept, net = [], torch.nn.Linear(1000, 1000)
optimizer = torch.optim.SGD([w, *net.parameters()], lr=0.1)
for step in range(24):
    extra = net(w).exp()
    loss = (w ** 2).sum() + net(w).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(extra)
print(w.tolist()[:3], float(loss))
"""


@pytest.mark.slow
def test_a_leak_and_what_its_repair_gives_back(tmp_path):
    (tmp_path / "train.py").write_text(LEAK)
    done = secondpass("see", "--steps", "3", "--out", "page.json", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == plain.stdout, "the program computes the same to the last bit"
    data = json.loads((tmp_path / "page.json").read_text())
    assert [f["code"] for f in data["findings"]] == ["SP401"]
    before = [m for m in data["memory"] if m["at"] % 1 == 0.75]
    assert len(before) >= 5, "the first three passes, and some of the later ones"
    for sample in before[1:]:
        iteration = (sample["at"] + 0.25 + 1) // 2
        # The exponentials of the iterations before this one; its own is not old.
        assert sample["useless"] == {"SP401": 4000 * (iteration - 1)}, sample
    held = [g for g in data["graphs"] if g["held_by"] == "kept"]
    assert held and held[0]["cause"] == "SP401" and held[0]["freed"] is None
    # No pass failed: the graph is that of the last pass that was looked at.
    assert data["graph"]["nodes"]


@pytest.mark.slow
def test_run_writes_a_page_without_the_ledger(tmp_path):
    (tmp_path / "train.py").write_text((EXAMPLES / "carried_state.py").read_text())
    done = secondpass("run", "--page", "page.json", "train.py", cwd=tmp_path)
    data = json.loads((tmp_path / "page.json").read_text())
    assert done.returncode == 1
    assert data["memory"] == [] and data["ledger"] == []
    assert len(data["passes"]) == 2 and data["reuses"] and data["graph"]["nodes"]


def test_a_program_that_ends_before_its_first_pass(tmp_path):
    (tmp_path / "train.py").write_text("print('nothing')")
    done = secondpass("see", "--out", "page.json", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ended before its first pass" in json.loads((tmp_path / "page.json").read_text())["notes"][0]


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "train.py").write_text("raise AssertionError('must not run')")
    done = secondpass("see", "--out", "no/such/page.html", "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot write no/such/page.html" in done.stderr
    done = secondpass("see", "--steps", "0", "train.py", cwd=tmp_path)
    assert done.returncode == 2 and "--steps" in done.stderr
