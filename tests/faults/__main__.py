# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tests.faults`: breaks hosts, verifies what came of it, asks tools, prints the tables of docs/faults.md."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shlex
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .corpus import Case, Corpus, close, drawn, numbers, sealed
from .measure import TOOLS, answer, as_json, command_tool, given, judge
from .operators import operators
from .pool import ROOT, Cache, Pool, Worker
from .program import Program, load
from .table import Row, lost, markdown, survival, totals
from .variants import VARIANTS, vary

HOSTS = Path(__file__).parent / "hosts"
CASES = ROOT / "tests" / "cases"


def main(words: list[str] | None = None) -> int:
    options = _options(words)
    console = Console(stderr=True)
    try:
        return _measure(options, console)
    except KeyboardInterrupt:
        console.print(f"stopped; what was answered is kept in {options.cache}, and the next run goes on from there")
        return 130


def _measure(options: argparse.Namespace, console: Console) -> int:
    wrong = _wrong(options)
    if wrong:
        console.print(wrong, highlight=False, soft_wrap=True, markup=False)
        return 2
    programs = hosts(options.hosts)
    names = Counter(p.name for p in programs)
    if not programs or max(names.values()) > 1:
        console.print(
            f"two hosts have one name: {', '.join(n for n, c in names.items() if c > 1)}"
            if programs
            else f"no host in {', '.join(map(str, options.hosts))}: a host is a .py file, or a folder with a main.py"
        )
        return 2
    tools = _tools(options)
    cache = Cache(options.cache)
    bar = Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
    )
    with Pool(options.jobs) as pool, bar:
        corpus = Corpus(programs, pool, cache, lambda text: bar.console.print(text, highlight=False, soft_wrap=True))
        cases = _cases(corpus, options, bar)
        if options.export:
            return _export(cases, options.export)
        rows = _ask(pool, cache, cases, tools, options, bar)
        varied = _vary(pool, cache, corpus, cases, tools, options, bar)
    spent = ", ".join(f"{mode} {seconds:.0f} s" for mode, seconds in pool.spent.most_common() if seconds >= 0.5)
    if spent:
        console.print(f"{len(cases)} programs; processor time of what was not known yet: {spent}", highlight=False)
    open_ = [r for r in rows if not r[0].sealed]
    closed = [r for r in rows if r[0].sealed]
    parts = [(r, t) for r, t in ((open_, "Open part"), (closed, "Sealed part")) if r]
    tables = [markdown(*p) for p in parts]
    if "run" in tools:
        tables += [lost(*p) for p in parts]
    if varied:
        tables.append(survival(varied, rows))
    text = "\n".join([_conditions(rows, varied, len(programs), options), *tables])
    print(text)
    if options.publish:
        _publish(options.publish, text)
    if options.dropped:
        for (operator, why), count in sorted(corpus.dropped.items()):
            if not sealed(operator.removesuffix(" twin")):
                print(f"{count:5d}  {operator}: {why}")
    if options.misses:
        _misses(open_, options.misses)
    if options.json:
        found = {"open": totals(open_), "sealed": totals(closed), "dropped": _dropped(corpus.dropped)}
        found["answers"] = [
            {"id": c.name, "folder": _folder(c), **{t: _short(v) for t, v in vs.items()}} for c, vs in open_
        ]
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _conditions(rows: list[Row], varied: list[Any], count: int, options: argparse.Namespace) -> str:
    """What the tables are of."""
    faults, twins = sum(not c.clean for c, _ in rows), sum(c.clean for c, _ in rows)
    part = f"drawn by a hash (`--sample {options.sample}`)" if options.sample else "all that there are"
    more = [f"`fix` was asked about {n} of them"] if (n := sum("fix" in v for _, v in rows)) else []
    more += [f"{len(varied)} programs in other words"] if varied else []
    more.append(f"Python {platform.python_version()}, PyTorch {version('torch')}")
    return (
        f"{len(rows)} programs, {part}: {faults} with a fault, {twins} harmless twins and untouched hosts, made of {count} hosts "
        f"by {len(operators())} operators; {', '.join(more)}.\n"
    )


def _wrong(options: argparse.Namespace) -> str:
    """What is wrong with what was asked for, said before anything is begun; "" if nothing is."""
    missing = [str(f) for f in options.hosts if not f.is_dir()]
    if missing:
        return f"no such folder: {', '.join(missing)}"
    unknown = [o for o in options.operator if o not in operators()]
    if unknown:
        return f"no such operator: {', '.join(unknown)} (known: {', '.join(operators())})"
    causes = sorted({"clean", *_causes()})
    unknown = [c for c in options.cause if c not in causes]
    if unknown:
        return f"no operator makes faults of this cause: {', '.join(unknown)} (known: {', '.join(causes)})"
    if options.command and ("{program}" not in options.command or "{out}" not in options.command):
        return "--command needs {program}, the file to look at, and {out}, the JSON to write"
    if options.command and shutil.which(shlex.split(options.command)[0]) is None:
        return f"no such command: {shlex.split(options.command)[0]}"
    if options.publish and not (options.publish.is_file() and _BEGIN in options.publish.read_text(encoding="utf-8")):
        return f"{options.publish} has no line {_BEGIN.strip()}"
    if options.json and not options.json.parent.is_dir():
        return f"no such folder: {options.json.parent}"
    if options.answers:
        try:
            found = json.loads(options.answers.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return f"{options.answers}: {error}"
        if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
            return f"{options.answers}: not an object of answers by the names of the exported folders"
    return ""


def _causes() -> set[str]:
    return {o.cause for o in operators().values()}


def _tools(options: argparse.Namespace) -> dict[str, Any]:
    others = options.export or options.command or options.answers
    tools = {t: TOOLS[t] for t in (options.tool if options.tool or others else TOOLS)}
    if options.command:
        tools["command"] = command_tool(options.command)
    if options.answers:
        told = json.loads(options.answers.read_text(encoding="utf-8"))
        tools["answers"] = lambda worker, case: given(told.get(_folder(case), told.get(case.name)))
    return tools


def hosts(folders: Iterable[Path]) -> list[Program]:
    """The programs of some folders; without any, ours and a part of the reference repairs of tests/cases."""
    if folders:
        return [p for f in folders for p in load(f)]
    found = list(load(HOSTS))
    for key in sorted(CASES.glob("*/key.json")):
        if hashlib.sha256(key.parent.name.encode()).digest()[1] < 64:
            found += _repaired(key)
    return found


def _repaired(key: Path) -> list[Program]:
    """A right program of a case: its own if nothing is wrong with it, else its first reference repair."""
    name = json.loads(key.read_text(encoding="utf-8"))["result"][0]
    folder = key.parent
    if (folder / name).is_dir():
        files = {p.name: p for p in (folder / name).glob("*.py")}
    else:
        files = {p.name: p for p in folder.glob("*.py") if not p.name.startswith("fixed_")} | {"main.py": folder / name}
    return [Program(f"case-{folder.name}", {n: p.read_text(encoding="utf-8") for n, p in files.items()})]


def _count(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more (got {word})")
    return int(word)


def _maybe(word: str) -> int:
    return 0 if word == "0" else _count(word)


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    add = parser.add_argument
    add("--hosts", type=Path, action="append", default=[], metavar="FOLDER", help="take these programs instead of ours")
    add("--sample", type=_count, metavar="N", help="take N programs, drawn by a hash, and verify no more than those")
    add("--operator", action="append", default=[], metavar="NAME", help="only this way to break a program")
    add("--cause", action="append", default=[], metavar="NAME", help="only faults of this cause (`clean`: twins)")
    add("--tool", action="append", default=[], choices=list(TOOLS), help="ask only this one (default: all)")
    add("--command", metavar="LINE", help="ask another tool: a command with {program} and {out}, which writes JSON")
    add("--answers", type=Path, metavar="FILE", help="JSON: answers of another tool by the names of exported folders")
    add("--fix", type=_maybe, default=300, metavar="N", help="how many programs fix is asked for (default: 300)")
    add(
        "--variants",
        type=_maybe,
        default=300,
        metavar="N",
        help="how many programs are told in other words (default: 300)",
    )
    add("--export", type=Path, metavar="FOLDER", help="write the open programs and their keys, and ask nobody")
    add("--json", type=Path, metavar="FILE", help="write totals, and the answers for the open part")
    add("--publish", type=Path, metavar="PAGE", help="write the tables into this page, between its two comments")
    add("--misses", metavar="TOOL", choices=list(TOOLS), help="list the open programs that a tool is wrong about")
    add("--dropped", action="store_true", help="list what was made and did not show its fault, by operator")
    add(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many run at once (default: one a core)",
    )
    add(
        "--cache",
        type=Path,
        default=ROOT / ".faults",
        metavar="FOLDER",
        help="where answers are kept (default: .faults)",
    )
    add("--only-open", action="store_true", help="leave the sealed part out")
    options = parser.parse_args(words)
    if options.misses and options.tool and options.misses not in options.tool:
        parser.error(f"--misses {options.misses} needs --tool {options.misses}")
    return options


def _cases(corpus: Corpus, options: argparse.Namespace, bar: Progress) -> list[Case]:
    def wanted(operator: Any) -> bool:
        if options.only_open and sealed(operator.name):
            return False
        return not options.operator or operator.name in options.operator

    if options.only_open:
        corpus.programs = [p for p in corpus.programs if not sealed(p.name)]

    def asked(case: Case) -> bool:
        return not options.cause or case.mutant.cause in options.cause

    jobs = corpus.jobs(wanted)
    if options.cause:
        kinds = {cause == "clean" for cause in options.cause}  # twins, or faults, or both
        jobs = [j for j in jobs if (j.twin or j.operator is None) in kinds]
    task = bar.add_task("programs", total=options.sample or len(jobs))
    if options.sample:
        cases = corpus.sample(jobs, options.sample, lambda made: bar.advance(task, sum(map(asked, made))), asked)
        bar.update(task, completed=len(cases), total=len(cases))
    else:
        cases = list(filter(asked, corpus.cases(jobs, lambda made: bar.advance(task))))
    cases.sort(key=drawn)  # a smaller sample is the beginning of a larger one, and of everything
    return cases


def _ask(pool: Pool, cache: Cache, cases: list[Case], tools: Any, options: Any, bar: Progress) -> list[Row]:
    verdicts: dict[str, dict[str, Any]] = {c.name: {} for c in cases}
    for tool, ask in tools.items():
        asked = cases[: options.fix] if tool == "fix" else cases  # the others are quick
        asked = [c for c in asked if not (c.clean and tool in ("torch", "anomaly"))]
        task = bar.add_task(tool, total=len(asked))

        def one(worker: Worker, case: Case, tool: str = tool, ask: Any = ask) -> Any:
            return answer(worker, cache, tool, ask, case)

        for case, found in pool.map(one, asked):
            verdicts[case.name][tool] = judge(tool, case, found)
            bar.advance(task)
    return [(c, verdicts[c.name]) for c in cases]


def _vary(pool: Pool, cache: Cache, corpus: Corpus, cases: list[Case], tools: Any, options: Any, bar: Progress) -> Any:
    """Programs in other words, each with the verdicts on it and the name of the original."""
    asked = [t for t in ("run", "check") if t in tools]
    if not asked or not options.variants:
        return []
    orders = [
        sorted(VARIANTS, key=lambda v, c=case: hashlib.sha256(f"{c.name}{v}".encode()).digest())  # type: ignore[misc]
        for case in cases
    ]
    jobs = [(case, order[turn]) for turn in range(3) for case, order in zip(cases, orders, strict=True)]
    task = bar.add_task("variants", total=options.variants)

    def one(worker: Worker, job: Any) -> Any:
        case, variant = job
        made = vary(case.mutant, case.key, variant)
        if made is None:
            return None
        mutant, key = made
        before = corpus.ask(worker, case.mutant.program, "plain")
        ran = corpus.ask(worker, mutant.program, "plain")
        same = (before["status"], before["error"]) == (ran["status"], ran["error"])
        if not same or (ran["status"] == "ok" and not close(numbers(before["out"]), numbers(ran["out"]))):
            return None
        new = replace(case, mutant=mutant, key=key)
        return new, {t: judge(t, new, answer(worker, cache, t, tools[t], new)) for t in asked}

    found: list[Any] = []
    for start in range(0, len(jobs), 2 * pool.size):
        for (case, variant), made in pool.map(one, jobs[start : start + 2 * pool.size]):
            if made is not None and len(found) < options.variants:
                found.append((case, variant, *made))
                bar.advance(task)
        if len(found) >= options.variants:
            break
    return found


_BEGIN, _END = "<!-- tables: written by `make faults` -->\n", "<!-- end of tables -->"


def _publish(page: Path, text: str) -> None:
    before, first, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, last, after = rest.partition(_END)
    page.write_text(f"{before}{first}\n{text}\n{last}{after}", encoding="utf-8")


def _misses(rows: list[Row], tool: str) -> None:
    for case, verdicts in rows:
        verdict = verdicts.get(tool)
        if verdict is not None and not verdict["right"]:
            print(
                f"{case.name}  [{case.mutant.cause}]  {', '.join(verdict['wrong'])}  said: {', '.join(map(str, verdict['said']))}"
            )


def _short(verdict: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in verdict.items() if k != "marks"}


def _dropped(dropped: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for (operator, why), count in sorted(dropped.items()):
        found[operator][why] = count
    return dict(found)


def _folder(case: Case) -> str:
    return hashlib.sha256(case.name.encode()).hexdigest()[:12]


def _export(cases: list[Case], folder: Path) -> int:
    """The open programs as tests/cases has them, for other tools."""
    count = 0
    for case in cases:
        if case.sealed:
            continue
        place = folder / _folder(case)
        case.mutant.program.write(place)
        case.host.write(place / "fixed_host")
        (place / "key.json").write_text(as_json(case), encoding="utf-8")
        count += 1
    print(f"{count} programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
