# SPDX-License-Identifier: BSD-3-Clause
"""The injector itself, and a fixed sample of what it makes: the whole table is `make faults`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from secondpass.causes import CAUSES

from .__main__ import HOSTS, hosts
from .corpus import Corpus, close, numbers, sealed
from .measure import TOOLS, answer, judge
from .operators import operators
from .pool import Cache, Pool, Worker, environment
from .program import Edit, Program, apply, line, load, tagged
from .variants import VARIANTS, vary

HERE = Path(__file__).parent
SAMPLE = json.loads((HERE / "sample.json").read_text(encoding="utf-8"))
"""Verdicts that stand, by program: what was right once stays right."""

SMALL = """
import torch
torch.manual_seed(0)
model = torch.nn.GRUCell(2, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
h = torch.zeros(1, 4)
log = []
for step in range(8):
    h = model(torch.randn(1, 2), h)
    loss = (h ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(loss.item())
    h = h.detach()
print("RESULT", *("%.6g" % p.abs().sum() for p in model.parameters()))
"""


@pytest.fixture(scope="module")
def pool():
    with Pool(1) as made:
        yield made


def corpus_of(pool, tmp_path, *programs):
    said: list[str] = []
    return Corpus(list(programs), pool, Cache(tmp_path), said.append), said


def test_operators_and_hosts_are_many():
    found = operators()
    assert len(found) >= 28
    assert {o.cause for o in found.values()} <= {c.name for c in CAUSES.values()}
    assert all(o.title.endswith(".") for o in found.values())
    ours = list(load(HOSTS))
    assert len(ours) >= 150 or len(hosts([])) >= 150
    assert len({p.name for p in hosts([])}) == len(hosts([]))
    assert 0.15 < sum(map(sealed, found)) / len(found) < 0.6


def test_marks_say_where_things_are():
    program = Program("p", {"main.py": "a = 1\nb = ä(a)\nc = b\n"})
    assert apply(program, [Edit("main.py", 10, 14, tagged("ä(a)"))]) is None  # nothing but marks
    assert apply(program, [Edit("main.py", 0, 5, "x"), Edit("main.py", 3, 8, "y")]) is None  # they overlap
    edits = [Edit("main.py", 0, 5, "x = 0\na = 1"), Edit("main.py", 10, 14, f"{line('built')}{tagged('f(a)')}")]
    made = apply(program, edits)
    assert made is not None
    new, marks = made
    assert new.files["main.py"] == "x = 0\na = 1\nb = f(a)\nc = b\n"
    assert marks["tags"] == (("main.py", 3, 4, 3, 8),)
    assert marks["lines"] == {"built": (("main.py", 3),)}


def test_a_host_gives_mutants_with_true_keys(pool, tmp_path):
    corpus, said = corpus_of(pool, tmp_path, Program("small", {"main.py": SMALL.lstrip()}))
    cases = list(
        corpus.cases(lambda o: o.name in ("undetached-state", "needless-retain", "kept-loss", "dropped-zero-grad"))
    )
    assert said == []
    by = {c.mutant.operator: c for c in cases if not c.clean}
    state = by["undetached-state"].key
    assert state["cause"] == "carried-state"
    assert state["failed"] == state["freed"] == [("main.py", 11)]
    assert ("main.py", 8) in state["built"]
    assert "h" in state["carrier"]
    assert by["needless-retain"].key["failed"] == [("main.py", 11)]
    assert set(by) == {"undetached-state", "needless-retain", "kept-loss", "dropped-zero-grad"}
    assert any(c.clean for c in cases)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit(3)", "fails by itself"),
        ("import a_package_that_nobody_has", "needs a package"),
        ("print('done')", "prints no RESULT"),
        ("print('RESULT 1')", "makes no backward pass"),
        ("this is no python", "fails by itself"),
    ],
)
def test_a_host_that_cannot_be_used_is_one_line(pool, tmp_path, text, why):
    corpus, said = corpus_of(pool, tmp_path, Program("odd", {"main.py": text}))
    assert list(corpus.cases()) == []
    assert len(said) == 1
    assert why in said[0]


def test_a_forked_run_says_what_a_real_one_says(tmp_path):
    text = SMALL.lstrip().replace("    h = h.detach()\n", "")
    (tmp_path / "main.py").write_text(text)
    command = [sys.executable, "-m", "secondpass", "run", "--json", "report.json", "main.py"]
    subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    real = json.loads((tmp_path / "report.json").read_text())["findings"]
    worker = Worker()
    try:
        asked = ["run", "--json", "../report.json", "main.py"]
        forked = worker.ask(Program("p", {"main.py": text}), "command", command=asked)["report"]["findings"]
    finally:
        worker.close()
    for a, b in zip(forked, real, strict=True):
        assert {k: a[k] for k in a if k != "facts"} == {k: b[k] for k in b if k != "facts"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_computes_the_same(pool, tmp_path, variant):
    corpus, _ = corpus_of(
        pool, tmp_path, Program("small", {"main.py": SMALL.lstrip() + "\n\ndef unused():\n    return 1\n"})
    )
    case = next(c for c in corpus.cases(lambda o: o.name == "kept-loss") if not c.clean)
    made = vary(case.mutant, case.key, variant)
    assert made is not None
    mutant, key = made
    assert mutant.program.files != case.mutant.program.files
    worker = Worker()
    try:
        ran = worker.ask(mutant.program, "plain")
    finally:
        worker.close()
    assert close(numbers(ran["out"]), case.result), ran
    text = mutant.program.files[key["failed"][0][0]].splitlines()
    assert any("append" in text[n - 1] for f, n in key["failed"])


def test_the_sample_is_as_right_as_it_was(pool, tmp_path):
    """Verdicts on programs of a few hosts; to add to the sample is to hold a promise."""
    names = {n.split("/")[0] for n in SAMPLE}
    chosen = [p for p in hosts([]) if p.name in names]
    corpus, _ = corpus_of(pool, tmp_path, *chosen)
    wanted = {n.split("/")[1].removesuffix("=twin") for n in SAMPLE}
    cases = {c.name: c for c in corpus.cases(lambda o: o.name in wanted) if c.name in SAMPLE}
    assert set(cases) == set(SAMPLE)
    for (name, tools), found in pool.map(
        lambda worker, item: {t: answer(worker, corpus.cache, t, TOOLS[t], cases[item[0]]) for t in item[1]},
        SAMPLE.items(),
    ):
        for tool in tools:
            verdict = judge(tool, cases[name], found[tool])
            assert verdict["right"], (name, tool, verdict)
