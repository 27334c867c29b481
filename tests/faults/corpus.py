# SPDX-License-Identifier: BSD-3-Clause
"""From hosts to verified mutants and twins, with their keys.

Nothing is taken on trust: a mutant counts only if a plain run shows its fault, and its places are those that the oracle saw.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from .host import Host
from .operators import Change, Operator, operators
from .pool import Cache, Pool, Worker
from .program import Mutant, Program

__all__ = ["Case", "Corpus", "close", "drawn", "numbers", "sealed"]

HERE = Path(__file__).parent
SITES = 2
"""How many mutants of one operator one host may give: programs with many calls must not make up the table. Twins: one of every
second operator."""
SLOW = 12.0
"""Seconds after which a host is too long for a benchmark of thousands."""


@dataclass(frozen=True)
class Case:
    """A verified program with its key, in the format of tests/cases."""

    mutant: Mutant
    key: dict[str, Any]
    host: Program
    result: list[float]
    plain: dict[str, Any]
    """What a plain run gave."""

    @property
    def name(self) -> str:
        return self.mutant.name

    @property
    def clean(self) -> bool:
        return self.mutant.cause == "clean"

    @property
    def sealed(self) -> bool:
        return sealed(self.mutant.host) or sealed(self.mutant.operator)


def sealed(name: str) -> bool:
    """Whether a host or an operator belongs to the part that nobody looks into."""
    return hashlib.sha256(name.encode()).digest()[0] < 80


def numbers(out: str) -> list[float] | None:
    """The numbers of the last RESULT line."""
    lines = [r for r in out.splitlines() if r.startswith("RESULT")]
    try:
        return [float(x) for x in lines[-1].split()[1:]] if lines else None
    except ValueError:
        return None


def _statements(program: Program, places: Iterable[Any]) -> list[tuple[str, int]]:
    """Places as lines, and as the first lines of the statements that they are in: a statement may go over several lines."""
    found = {(file, line) for file, line in places if file in program.files}
    for file, line in list(found):
        for node in _parsed(program.files[file]):
            if not node.lineno <= line <= (node.end_lineno or node.lineno):
                continue
            if isinstance(node, ast.With) and any("grad" in ast.unparse(i.context_expr) for i in node.items):
                # A block without gradients is one place: its head, and what is computed in it.
                found |= {(file, n.lineno) for n in ast.walk(node) if isinstance(n, ast.stmt)}
            elif not hasattr(node, "body"):
                found.add((file, node.lineno))
    return sorted(found)


@lru_cache(maxsize=16)
def _parsed(text: str) -> list[ast.stmt]:
    return [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]


def _bound(program: Program, places: Iterable[Any]) -> set[str]:
    """What is bound where something was built: two passes share it, though its name may be gone when the second one fails."""
    lines = {(file, line) for file, line in places}
    return {
        ast.unparse(part)
        for file, text in program.files.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign) and any((file, n) in lines for n in range(node.lineno, _last(node) + 1))
        for target in node.targets
        for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
    }


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def close(a: list[float] | None, b: list[float] | None) -> bool:
    """Whether two results are the same training."""
    return (
        a is not None
        and b is not None
        and len(a) == len(b)
        and all(math.isclose(x, y, rel_tol=2e-4, abs_tol=2e-5) for x, y in zip(a, b, strict=True))
    )


@dataclass(frozen=True)
class Job:
    """One operator and one host: mutants, or twins. Without an operator: the host as it is."""

    program: Program
    operator: Operator | None
    twin: bool = False

    @property
    def name(self) -> str:
        return f"{self.program.name} {self.operator.name if self.operator else ''}{' twin' if self.twin else ''}"

    @property
    def order(self) -> bytes:
        """Where a sample takes it."""
        return _order(self.name)


Found = tuple[list[Case], list[str]]
"""What came of a job: verified programs, and why others were dropped."""
Done = Callable[[list[Case]], None]


class Corpus:
    """Hosts of some folders, and what operators make of them."""

    def __init__(self, hosts: list[Program], pool: Pool, cache: Cache, say: Callable[[str], None]) -> None:
        self.programs, self.pool, self.cache, self.say = hosts, pool, cache, say
        self.dropped: Counter[tuple[str, str]] = Counter()
        """Mutants that were made and did not count, by operator and reason."""

    # -- hosts -----------------------------------------------------------------------------------------------------------

    def _host(self, worker: Worker, program: Program) -> tuple[Host | None, str]:
        plain = self.ask(worker, program, "plain")
        if plain["status"] == "timeout" or plain.get("cpu", 0) > SLOW:
            return None, f"runs for more than {SLOW:.0f} s; make it smaller"
        if plain["status"] != "ok":
            missing = "No module named" in plain.get("message", "")
            return (
                None,
                f"{'needs a package: ' if missing else 'fails by itself: '}{plain.get('message', plain['status'])}",
            )
        result = numbers(plain["out"])
        if result is None:
            return None, "prints no RESULT line with numbers"
        seen = self.ask(worker, program, "survey")
        if seen["status"] != "ok" or not close(numbers(seen["out"]), result):
            return None, f"cannot be surveyed: {seen.get('message', seen['status'])}"
        if not any(e["what"] == "pass" for e in seen["events"]):
            return None, "makes no backward pass"
        return Host(program, seen, result), ""

    def ask(self, worker: Worker, program: Program, mode: str, **request: Any) -> dict[str, Any]:
        """A run, or what came of it the last time."""
        parts = (_INSIDE, _torch(), mode, repr(sorted(request.items())), program.digest)
        found: dict[str, Any] = self.cache.get(*parts, make=lambda: worker.ask(program, mode, **request))
        return found

    # -- mutants ---------------------------------------------------------------------------------------------------------

    def jobs(self, only: Callable[[Operator], bool] = lambda o: True) -> list[Job]:
        """What there is to try, host by host."""
        chosen = [o for o in operators().values() if only(o)]
        found = []
        for program in self.programs:
            found.append(Job(program, None))
            found += [Job(program, o) for o in chosen]
            names = ((o, hashlib.sha256(f"{program.name} {o.name}".encode()).digest()[0]) for o in chosen)
            found += [Job(program, o, twin=True) for o, drawn in names if drawn % 2]
        return found

    def cases(self, jobs: list[Job] | None = None, done: Done = lambda found: None) -> Iterator[Case]:
        """Every verified program of some jobs, a few of each; `done` is told what each job gave."""
        by: dict[str, list[Job]] = {}
        for job in self.jobs() if jobs is None else jobs:
            by.setdefault(job.program.name, []).append(job)

        def one(worker: Worker, some: list[Job]) -> tuple[str, list[Found]]:
            return self._of(worker, some, done)

        for some, (why, found) in self.pool.map(one, by.values()):
            if why:
                self.say(f"{some[0].program.name}: {why}")
            for job, (cases, dropped) in zip(some, found, strict=False):
                for reason in dropped:
                    assert job.operator is not None
                    self.dropped[f"{job.operator.name}{' twin' if job.twin else ''}", reason] += 1
                yield from cases

    def sample(
        self,
        jobs: list[Job],
        count: int,
        done: Done = lambda found: None,
        wanted: Callable[[Case], bool] = lambda c: True,
    ) -> list[Case]:
        """Programs of jobs in the order of a hash, until there are enough: no more is verified than is asked for."""
        waiting, found = sorted(jobs, key=lambda j: j.order), list[Case]()
        while waiting and len(found) < count:
            some, waiting = waiting[: count - len(found)], waiting[count - len(found) :]
            found += sorted(filter(wanted, self.cases(some, done)), key=drawn)
        return found[:count]

    def _of(self, worker: Worker, jobs: list[Job], done: Done) -> tuple[str, list[Found]]:
        """What comes of one host's jobs, or why it is of no use."""
        program = jobs[0].program
        host: tuple[Host | None, str] | None = None
        results: list[Found] = []
        parts = (_MAKERS, _INSIDE, _torch(), program.digest)

        def surveyed() -> tuple[Host | None, str]:
            nonlocal host
            host = host or self._host(worker, program)
            return host

        def whole() -> dict[str, Any]:
            made, why = surveyed()
            return {"why": why, "result": made.result if made else []}

        known = self.cache.get("host", *parts, make=whole)
        if known["why"]:
            for _ in jobs:
                done([])
            return known["why"], []
        for job in jobs:
            if job.operator is None:
                mutant = Mutant("untouched", "main.py", program, "clean", program.name)
                results.append(([Case(mutant, {"cause": "clean"}, program, known["result"], {})], []))
            else:

                def some(job: Job = job) -> Any:
                    made, _ = surveyed()
                    assert made is not None
                    return self._some(worker, made, job)

                name = f"{job.operator.name}{job.operator.digest}{job.twin}"
                made, dropped = self.cache.get("job", *parts, name, make=some)
                cases = [Case(Mutant.loaded(m), key, program, known["result"], ran) for m, key, ran in made]
                results.append((cases, dropped))
            done(results[-1][0])
        tried = [r for r, j in zip(results, jobs, strict=True) if j.operator is not None]
        fits = len(tried) < len(operators()) or any(r[0] or r[1] for r in tried)
        return "" if fits else "no operator fits", results

    def _some(self, worker: Worker, host: Host, job: Job) -> tuple[list[Any], list[str]]:
        """As many of an operator's programs as are wanted, and why others were dropped on the way."""
        operator, twin = job.operator, job.twin
        assert operator is not None
        found, dropped = [], []
        for mutant, change in operator.of(host, twins=twin):
            key, why = (
                self._twin(worker, mutant, change) if twin else self.verify(worker, host, operator, mutant, change)
            )
            if key is None:
                dropped.append(why)
                continue
            ran = self.ask(worker, mutant.program, "plain", **self._request(host, change))
            found.append((mutant.saved(), key, {k: ran[k] for k in ("status", "error", "stack")}))
            if len(found) == (1 if twin else SITES):
                break
        return found, dropped

    def _twin(self, worker: Worker, mutant: Mutant, change: Change) -> tuple[dict[str, Any] | None, str]:
        ran = self.ask(worker, mutant.program, "plain")
        if ran["status"] != "ok" or numbers(ran["out"]) is None:
            return None, "does not run"
        if change.shows == "needed":
            files = {
                f: t.replace("retain_graph=True, ", "").replace(", retain_graph=True", "")
                for f, t in mutant.program.files.items()
            }
            files = {f: t.replace("retain_graph=True", "") for f, t in files.items()}
            without = self.ask(worker, replace(mutant.program, files=files), "plain")
            if without.get("error") != "backward-twice":
                return None, "would run without"
        return {"cause": "clean", "error": "none"}, ""

    def verify(
        self, worker: Worker, host: Host, operator: Operator, mutant: Mutant, change: Change
    ) -> tuple[dict[str, Any] | None, str]:
        """The key of a mutant whose fault shows, or the reason why it does not count."""
        program = mutant.program
        ran = self.ask(worker, program, "plain", **self._request(host, change))
        if ran["status"] not in ("ok", "error"):
            return None, ran["status"]
        error = ran["error"]
        swallowed = "swallowed" in change.error
        wanted = "none" if swallowed else error
        if error != wanted or (not swallowed and error not in change.error):
            return None, "no fault" if error == "none" else f"another error: {error}"
        failed = mutant.lines.get("failed", ())
        if error != "none":
            # The innermost line may be one of a backward of the program's own, inside the pass.
            places = [tuple(p) for p in ran["stack"]]
            if not places or (failed and not any(p in failed for p in places)):
                return None, "fails elsewhere"
            failed = tuple(dict.fromkeys([places[0], *(p for p in places if p in failed)]))
        seen: dict[str, Any] = {}
        if swallowed or (error in ("backward-twice", "inplace") and operator.cause != "freed-access"):
            seen = self.ask(worker, program, "oracle", tags=[list(t) for t in mutant.tags])
            met = seen.get("met", "none")
            if met == "none" or (met != error and not swallowed):
                return None, "the oracle does not meet it"
            if not swallowed:
                failed = (*failed, *(tuple(p) for p in seen["failed"]))
        if error == "none":
            why = self._silent(worker, host, mutant, change, ran, seen)
            if why:
                return None, why
        if (seen or change.shows == "unreached") and not operator.holds(seen):
            return None, "another fault"
        built = seen.get("built", ()) if seen and change.placed else mutant.lines.get("built", ())
        freed = seen.get("freed", ()) if seen and change.placed else mutant.lines.get("freed", ())
        names = {*change.carrier, *seen.get("names", ())} if change.named else set()
        if names and mutant.cause in ("shared-forward", "step-between"):
            names |= _bound(program, built)
        return {
            "cause": [mutant.cause, *change.also] if change.also else mutant.cause,
            "error": seen.get("met", error) if swallowed else error,
            "carrier": sorted(names),
            "built": _statements(program, (*built, *mutant.lines.get("built", ()))),
            "freed": _statements(program, freed),
            "failed": _statements(program, failed),
            "remedy": list(change.remedy),
        }, ""

    def _silent(
        self, worker: Worker, host: Host, mutant: Mutant, change: Change, ran: dict[str, Any], seen: dict[str, Any]
    ) -> str:
        """Why a silent fault does not show; "" if it does."""
        result = numbers(ran["out"])
        if result is None:
            return "no result"
        right = host.result
        if change.shows == "reference":
            found = numbers(self.ask(worker, mutant.references[0], "plain")["out"]) if mutant.references else None
            if found is None:
                return "the right way does not run"
            right = found
        same = len(result) == len(right) and all(map(math.isclose, result, right))
        if change.shows == "same":
            return "" if same else "another result"
        if change.shows == "alive":
            before = self.ask(worker, host.program, "plain", probe=self._probe(host))["alive"]
            return "" if ran["alive"] and max(ran["alive"]) >= max(before) + 4 else "nothing more is alive"
        if change.shows == "unreached":
            survey = self.ask(worker, mutant.program, "survey")
            seen["unreached"] = sorted(_unreached(survey.get("events", ())))
            if len(seen["unreached"]) <= len(_unreached(host.events)):
                return "every parameter is reached"
        return "no difference" if same else ""

    def _request(self, host: Host, change: Change) -> dict[str, Any]:
        return {"probe": self._probe(host)} if change.shows == "alive" else {}

    def _probe(self, host: Host) -> tuple[int, ...]:
        count = sum(e["what"] == "pass" for e in host.events)
        return (count // 2, count - 1)


def _unreached(events: Any) -> set[int]:
    owned: set[int] = set()
    filled: set[int] = set()
    for e in events:
        if e["what"] == "step":
            owned |= set(e["leaves"])
            filled |= set(e["filled"])
    return owned - filled


def drawn(case: Case) -> tuple[bytes, str]:
    """Where a sample takes a case: by its job, which is known before there is a case."""
    operator = "" if case.mutant.operator == "untouched" else case.mutant.operator
    return _order(f"{case.mutant.host} {operator}{' twin' if operator and case.clean else ''}"), case.name


def _order(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest()[:16]


_INSIDE = _digest(HERE / "inside.py")
_MAKERS = _digest(
    *(HERE / f"{n}.py" for n in ("corpus", "host", "program")), *sorted((HERE / "operators").glob("_*.py"))
)
"""What keys depend on, beside the operator's own file."""


@cache
def _torch() -> str:
    from importlib.metadata import version

    return version("torch")
