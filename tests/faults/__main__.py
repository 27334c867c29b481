# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tests.faults`: breaks hosts, verifies what came of it, asks tools, prints the tables of docs/faults.md."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .corpus import Case, Corpus, close, numbers, sealed
from .measure import TOOLS, answer, as_json, command_tool, judge
from .operators import operators
from .pool import ROOT, Cache, Pool, Worker
from .program import Program, load
from .table import Row, lost, markdown, totals
from .variants import VARIANTS, vary

HOSTS = Path(__file__).parent / "hosts"
CASES = ROOT / "tests" / "cases"


def main(words: list[str] | None = None) -> int:
    options = _options(words)
    console = Console(stderr=True)
    programs = hosts(options.hosts)
    if not programs:
        console.print(
            f"no host in {', '.join(map(str, options.hosts))}: a host is a .py file, or a folder with a main.py"
        )
        return 2
    unknown = [o for o in options.operator if o not in operators()]
    if unknown:
        console.print(f"no such operator: {', '.join(unknown)} (known: {', '.join(operators())})")
        return 2
    if options.export and not options.tool:
        options.tool = []
    tools = {t: TOOLS[t] for t in (options.tool if options.tool or options.export or options.command else TOOLS)}
    if options.command:
        tools["command"] = command_tool(options.command)
    cache = Cache(options.cache)
    bar = Progress(
        TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
    with Pool(options.jobs) as pool, bar:
        corpus = Corpus(programs, pool, cache, lambda text: bar.console.print(text, highlight=False, soft_wrap=True))
        cases = _cases(corpus, options, bar, len(programs))
        if options.export:
            return _export(cases, options.export)
        rows = _ask(pool, cache, cases, tools, options, bar)
        varied = _vary(pool, cache, corpus, cases, tools, options, bar)
    open_ = [r for r in rows if not r[0].sealed]
    closed = [r for r in rows if r[0].sealed]
    text = markdown(open_, "Open part") + "\n" + markdown(closed, "Sealed part")
    if "run" in tools:
        text += "\n" + lost(open_, "Open part") + "\n" + lost(closed, "Sealed part")
    if varied:
        text += "\n" + _survival(varied, rows)
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
        found["answers"] = [{"id": c.name, **{t: _short(v) for t, v in vs.items()}} for c, vs in open_]
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


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


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    add = parser.add_argument
    add("--hosts", type=Path, action="append", default=[], metavar="FOLDER", help="take these programs instead of ours")
    add("--sample", type=int, metavar="N", help="take N programs of all that are verified")
    add("--operator", action="append", default=[], metavar="NAME", help="only this way to break a program")
    add("--cause", action="append", default=[], metavar="NAME", help="only faults of this cause (`clean`: twins)")
    add("--tool", action="append", default=[], choices=list(TOOLS), help="ask only this one (default: all)")
    add("--command", metavar="LINE", help="ask another tool: a command with {program} and {out}, which writes JSON")
    add("--fix", type=int, default=300, metavar="N", help="how many programs fix is asked for (default: 300)")
    add(
        "--variants",
        type=int,
        default=300,
        metavar="N",
        help="how many programs are told in other words (default: 300)",
    )
    add("--export", type=Path, metavar="FOLDER", help="write the open programs and their keys, and ask nobody")
    add("--json", type=Path, metavar="FILE", help="write totals, and the answers for the open part")
    add("--publish", type=Path, metavar="PAGE", help="write the tables into this page, between its two comments")
    add("--misses", metavar="TOOL", choices=list(TOOLS), help="list the open programs that a tool is wrong about")
    add("--dropped", action="store_true", help="list what was made and did not show its fault, by operator")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    add(
        "--cache",
        type=Path,
        default=ROOT / ".faults",
        metavar="FOLDER",
        help="where answers are kept (default: .faults)",
    )
    add("--only-open", action="store_true", help="leave the sealed part out")
    return parser.parse_args(words)


def _cases(corpus: Corpus, options: argparse.Namespace, bar: Progress, count: int) -> list[Case]:
    task = bar.add_task("hosts", total=count)

    def wanted(operator: Any) -> bool:
        if options.only_open and sealed(operator.name):
            return False
        return not options.operator or operator.name in options.operator

    if options.only_open:
        corpus.programs = [p for p in corpus.programs if not sealed(p.name)]
        bar.update(task, total=len(corpus.programs))
    found = corpus.cases(wanted, lambda: bar.advance(task))
    cases = [c for c in found if not options.cause or c.mutant.cause in options.cause]
    cases.sort(key=lambda c: hashlib.sha256(c.name.encode()).digest())
    return cases[: options.sample] if options.sample else cases


def _ask(pool: Pool, cache: Cache, cases: list[Case], tools: Any, options: Any, bar: Progress) -> list[Row]:
    verdicts: dict[str, dict[str, Any]] = {c.name: {} for c in cases}
    for tool, ask in tools.items():
        asked = cases[: options.fix] if tool in ("fix", "anomaly") else cases  # the others are quick
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
    jobs = []
    for case in cases:
        order = sorted(VARIANTS, key=lambda v: hashlib.sha256(f"{case.name}{v}".encode()).digest())
        jobs += [(case, v) for v in order[:3]]
    jobs = sorted(jobs, key=lambda j: hashlib.sha256(f"{j[0].name}~{j[1]}".encode()).digest())
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


def _survival(varied: list[Any], rows: list[Row]) -> str:
    """The share of verdicts that are the same in other words, by variant."""
    first = {c.name: v for c, v in rows}
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for case, variant, _, verdicts in varied:
        for name in (variant, "all"):
            by[name]["programs"] += 1
            for tool, verdict in verdicts.items():
                before = first[case.name].get(tool)
                if before is not None:
                    by[name][f"{tool} asked"] += 1
                    same = before["cause"] == verdict["cause"] and before["right"] == verdict["right"]
                    by[name][tool] += same or (not before["right"] and verdict["right"])
    tools = [t for t in ("run", "check") if any(c[f"{t} asked"] for c in by.values())]
    lines = [
        "### In other words",
        "",
        "| variant | programs | " + " | ".join(f"{t}: same verdict" for t in tools) + " |",
    ]
    lines.append("| --- | ---: |" + " ---: |" * len(tools))
    for name in [*sorted(k for k in by if k != "all"), "all"]:
        shares = [f"{100 * by[name][t] / by[name][f'{t} asked']:.0f}%" if by[name][f"{t} asked"] else "" for t in tools]
        lines.append(f"| {name} | {by[name]['programs']} | " + " | ".join(shares) + " |")
    return "\n".join(lines) + "\n"


def _publish(page: Path, text: str) -> None:
    before, first, rest = page.read_text(encoding="utf-8").partition("<!-- tables: written by `make faults` -->\n")
    _, last, after = rest.partition("<!-- end of tables -->")
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


def _export(cases: list[Case], folder: Path) -> int:
    """The open programs as tests/cases has them, for other tools."""
    count = 0
    for case in cases:
        if case.sealed:
            continue
        place = folder / hashlib.sha256(case.name.encode()).hexdigest()[:12]
        case.mutant.program.write(place)
        case.host.write(place / "fixed_host")
        (place / "key.json").write_text(as_json(case), encoding="utf-8")
        count += 1
    print(f"{count} programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
