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

from .__main__ import HOSTS, hosts, main
from .corpus import Corpus, close, numbers, sealed
from .measure import TOOLS, answer, judge
from .operators import operators
from .pool import Cache, Pool, environment
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
    """One worker for everything here: most of what a program costs is to import torch."""
    with Pool(1) as made:
        yield made


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("answers"))


def corpus_of(pool, cache, *programs):
    said: list[str] = []
    return Corpus(list(programs), pool, cache, said.append), said


def cases_of(corpus, *names):
    return list(corpus.cases(corpus.jobs(lambda o: o.name in names)))


def asked(pool, program, mode, **request):
    ((_, found),) = pool.map(lambda worker, p: worker.ask(p, mode, **request), [program])
    return found


def test_operators_and_hosts_are_many():
    found = operators()
    assert len(found) >= 28
    assert {o.cause for o in found.values()} <= {c.name for c in CAUSES.values()}
    assert all(o.title.endswith(".") for o in found.values())
    ours = list(load(HOSTS))
    assert len(ours) >= 150
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


def test_a_host_gives_mutants_with_true_keys(pool, cache):
    names = ("undetached-state", "needless-retain", "kept-loss", "dropped-zero-grad")
    corpus, said = corpus_of(pool, cache, Program("small", {"main.py": SMALL.lstrip()}))
    cases = cases_of(corpus, *names)
    assert said == []
    by = {c.mutant.operator: c for c in cases if not c.clean}
    state = by["undetached-state"].key
    assert state["cause"] == "carried-state"
    assert state["failed"] == state["freed"] == [["main.py", 11]]
    assert ["main.py", 8] in state["built"]
    assert "h" in state["carrier"]
    assert by["needless-retain"].key["failed"] == [["main.py", 11]]
    assert set(by) == set(names)
    assert any(c.clean for c in cases)
    assert cases_of(corpus, *names) == cases  # what is kept is what was made
    jobs = corpus.jobs(lambda o: o.name in names)
    drawn = corpus.sample(jobs, 3)
    assert len(drawn) == 3
    assert drawn == corpus.sample(jobs, 4)[:3]
    assert {c.name for c in corpus.sample(jobs, 100)} == {c.name for c in cases}


def test_a_host_that_cannot_be_used_is_one_line(pool, cache):
    odd = {
        "raise SystemExit(3)": "fails by itself",
        "import a_package_that_nobody_has": "needs a package",
        "print('done')": "prints no RESULT",
        "print('RESULT 1')": "makes no backward pass",
        "this is no python": "fails by itself",
    }
    corpus, said = corpus_of(pool, cache, *(Program(f"odd{i}", {"main.py": t}) for i, t in enumerate(odd)))
    assert list(corpus.cases()) == []
    for i, (line_, why) in enumerate(zip(said, odd.values(), strict=True)):
        assert line_.startswith(f"odd{i}: ")
        assert why in line_


def test_forked_commands_say_what_real_ones_say(pool, tmp_path):
    text = SMALL.lstrip().replace("    h = h.detach()\n", "")
    (tmp_path / "main.py").write_text(text)
    command = [sys.executable, "-m", "secondpass", "run", "--json", "report.json", "main.py"]
    subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    real = json.loads((tmp_path / "report.json").read_text())["findings"]
    program = Program("p", {"main.py": text})
    run = ["run", "--json", "../report.json", "main.py"]
    forked = asked(pool, program, "command", command=run)["report"]["findings"]
    for a, b in zip(forked, real, strict=True):
        assert {k: a[k] for k in a if k != "facts"} == {k: b[k] for k in b if k != "facts"}
    # The runs that `fix` makes are forked as well.
    fixed = asked(pool, program, "command", command=["fix", "--write", "main.py"])
    assert fixed["code"] == 0
    assert "= h.detach()" in fixed["files"]["main.py"]


def test_a_variant_computes_the_same(pool, cache):
    text = SMALL.lstrip() + "\n\ndef unused():\n    return 1\n"
    corpus, _ = corpus_of(pool, cache, Program("varied", {"main.py": text}))
    case = next(c for c in cases_of(corpus, "kept-loss") if not c.clean)
    for variant in VARIANTS:
        made = vary(case.mutant, case.key, variant)
        assert made is not None, variant
        mutant, key = made
        assert mutant.program.files != case.mutant.program.files, variant
        ran = asked(pool, mutant.program, "plain")
        assert close(numbers(ran["out"]), case.result), (variant, ran)
        lines = mutant.program.files[key["failed"][0][0]].splitlines()
        assert any("append" in lines[n - 1] for f, n in key["failed"]), variant


def test_the_sample_is_as_right_as_it_was(pool, cache):
    """Verdicts on programs of a few hosts; to add to the sample is to hold a promise."""
    names = {n.split("/")[0] for n in SAMPLE}
    corpus, _ = corpus_of(pool, cache, *(p for p in hosts([]) if p.name in names))
    wanted = {(n.split("/")[0], n.split("/")[1]) for n in SAMPLE}
    jobs = [
        j
        for j in corpus.jobs()
        if (j.program.name, f"{j.operator.name if j.operator else 'untouched'}{'=twin' * (j.twin or not j.operator)}")
        in wanted
    ]
    cases = {c.name: c for c in corpus.cases(jobs) if c.name in SAMPLE}
    assert set(cases) == set(SAMPLE)
    for (name, tools), found in pool.map(
        lambda worker, item: {t: answer(worker, cache, t, TOOLS[t], cases[item[0]]) for t in item[1]},
        SAMPLE.items(),
    ):
        for tool in tools:
            verdict = judge(tool, cases[name], found[tool])
            assert verdict["right"], (name, tool, verdict)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hosts", "nowhere"], "no such folder: nowhere"),
        (["--operator", "nothing"], "no such operator: nothing"),
        (["--cause", "nothing"], "no operator makes faults of this cause: nothing"),
        (["--command", "mytool {program}"], "--command needs"),
        (["--command", "a-tool-that-nobody-has {program} {out}"], "no such command"),
        (["--publish", "pyproject.toml"], "has no line"),
        (["--answers", "pyproject.toml"], "pyproject.toml: "),
        (["--json", "nowhere/totals.json"], "no such folder: nowhere"),
    ],
)
def test_a_bad_question_is_one_line(capsys, words, said):
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_a_count_is_a_count(capsys):
    for words in (["--sample", "0"], ["--jobs", "-1"], ["--tool", "run", "--misses", "check"]):
        with pytest.raises(SystemExit):
            main(words)
