# SPDX-License-Identifier: BSD-3-Clause
"""What tools say about verified programs, and how right that is.

A tool is something that is given a program and answers with findings as the JSON contract has them. Answers are kept by the
content of the tool and of the program; marks are given anew each time.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from .corpus import Case, close, numbers
from .pool import ROOT, Cache, Worker

__all__ = ["TOOLS", "Verdict", "answer", "command_tool", "given", "judge"]

Answer = dict[str, Any]
Verdict = dict[str, Any]
"""`right` (full marks), `cause` (the cause is right), `wrong` (what is not), and for repairs `harmful`."""


# -- asking ------------------------------------------------------------------------------------------------------------------


def _run(worker: Worker, case: Case) -> Answer:
    found = worker.ask(case.mutant.program, "command", command=["run", "--json", "../report.json", "main.py"], limit=60)
    return {
        "findings": found.get("report", {}).get("findings"),
        "status": found["status"],
        "own": _own_fault(found["err"]),
    }


def _check(worker: Worker, case: Case) -> Answer:
    found = worker.ask(case.mutant.program, "command", command=["check", "--json", "../report.json", "."], limit=60)
    return {
        "findings": found.get("report", {}).get("findings"),
        "status": found["status"],
        "own": _own_fault(found["err"]),
    }


def _fix(worker: Worker, case: Case) -> Answer:
    program = case.mutant.program
    done = worker.ask(program, "command", command=["fix", "--write", "main.py"], limit=180)
    if "files" not in done:
        return {"status": "refused" if done["status"] == "ok" else done["status"], "said": done["out"][-2000:]}
    repaired = replace(program, files=done["files"])
    ran = worker.ask(repaired, "plain")
    right = [numbers(worker.ask(r, "plain")["out"]) for r in case.mutant.references]
    return {
        "status": "written",
        "result": numbers(ran["out"]) if ran["status"] == "ok" else None,
        "references": right,
        "files": done["files"],
        "ran": ran["status"],
    }


def _torch(worker: Worker, case: Case) -> Answer:
    """PyTorch's own message: where it failed, and no more. It was seen when the program was verified."""
    ran = case.plain
    if ran["error"] in ("none", "exit") or not ran["stack"]:
        return {"findings": [], "status": "ok"}
    file, line = ran["stack"][0]
    return {"findings": [{"cause": ran["error"], "failed": {"file": file, "line": line}}], "status": "ok"}


def _anomaly(worker: Worker, case: Case) -> Answer:
    """Anomaly mode: the failing node's forward line as well, printed as a warning."""
    first = "import torch\ntorch.autograd.set_detect_anomaly(True)\nimport runpy, warnings\nwarnings.simplefilter('always')\n"
    program = case.mutant.program
    if case.plain["error"] == "none":
        return {"findings": [], "status": "ok"}  # there is no failing node to say more about
    files = {**program.files, "started.py": program.files["main.py"]}
    files["main.py"] = first + "exec(compile(open('started.py').read(), 'started.py', 'exec'))\n"
    ran = worker.ask(replace(program, files=files), "plain")
    if ran["error"] == "none" or not ran["stack"]:
        return {"findings": [], "status": "ok"}
    lines = re.findall(
        r'File "(?:\./)?([\w./-]+\.py)", line (\d+)', ran["err"].partition("Traceback of forward call")[2]
    )
    own = [(f.replace("started.py", "main.py"), int(n)) for f, n in lines if f in files]
    stack = [(f.replace("started.py", "main.py"), n) for f, n in ran["stack"] if (f, n) != ("main.py", 5)]
    finding: dict[str, Any] = {"cause": ran["error"], "failed": {"file": stack[0][0], "line": stack[0][1]}}
    if own:
        finding["built"] = {"file": own[-1][0], "line": own[-1][1]}
    return {"findings": [finding], "status": "ok"}


TOOLS: dict[str, Callable[[Worker, Case], Answer]] = {
    "run": _run,
    "check": _check,
    "fix": _fix,
    "torch": _torch,
    "anomaly": _anomaly,
}


def command_tool(command: str) -> Callable[[Worker, Case], Answer]:
    """Somebody else's tool: a command line in which `{program}` and `{out}` stand for the main file and the JSON to write."""

    def ask(worker: Worker, case: Case) -> Answer:
        words = [w.format(program="main.py", out="../report.json") for w in shlex.split(command)]
        try:
            done = worker.shell(case.mutant.program, words)
        except (OSError, subprocess.SubprocessError) as error:
            return {"findings": None, "status": str(error)}
        return given(done.get("report"), done["status"])

    return ask


def given(report: Any, status: str = "ok") -> Answer:
    """Another tool's report, if it is one: no more than a list of findings is needed."""
    findings = report.get("findings") if isinstance(report, dict) else None
    good = isinstance(findings, list) and all(isinstance(f, dict) for f in findings)
    return {"findings": findings if good else None, "status": status}


def _own_fault(text: str) -> bool:
    return "fault of its own" in text or 'Traceback (most recent call last):\n  File "<frozen' in text


def answer(worker: Worker, cache_: Cache, tool: str, ask: Callable[[Worker, Case], Answer], case: Case) -> Answer:
    """What a tool says of a case, asked once. When another's tool changes is not known: it is asked every time."""
    if tool not in TOOLS:
        return ask(worker, case)
    ours = tool in ("run", "check", "fix")
    key = case.mutant.program.digest + (repr([r.digest for r in case.mutant.references]) if tool == "fix" else "")
    found: Answer = cache_.get(tool, _source() if ours else _here(), key, make=lambda: ask(worker, case))
    return found


@cache
def _source() -> str:
    """What our own answers depend on."""
    digest = hashlib.sha256()
    for path in (*sorted((ROOT / "src").rglob("*.py")), Path(__file__).with_name("server.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _here() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]


# -- judging -----------------------------------------------------------------------------------------------------------------


def judge(tool: str, case: Case, found: Answer) -> Verdict:
    """Marks for an answer."""
    if tool == "fix":
        return _judge_fix(case, found)
    findings = found.get("findings")
    if findings is None:
        return {"right": False, "cause": False, "wrong": ["no report"], "said": []}
    said = [f.get("cause") for f in findings]
    if case.clean:
        return {
            "right": not findings,
            "cause": not findings,
            "wrong": ["false alarm"] if findings else [],
            "said": said,
        }
    if not findings:
        return {"right": False, "cause": False, "wrong": ["silent"], "said": said}
    if tool == "check":
        keys = [k for k in ("failed", "built") if case.key.get(k)]
        good = [
            f
            for f in findings
            if f.get("cause") in _causes(case.key) and (not keys or any(_at(f.get(k), case.key[k]) for k in keys))
        ]
        named = any(f.get("cause") in _causes(case.key) for f in findings)
        return {
            "right": bool(good),
            "cause": named,
            "wrong": [] if good else ["place" if named else "cause"],
            "said": said,
        }
    marks = max((_marks(f, case.key) for f in findings), key=lambda m: (m["cause"], sum(m.values())))
    wrong = [k for k, v in marks.items() if not v]
    return {"right": not wrong, "cause": marks["cause"], "wrong": wrong, "said": said, "marks": marks}


def _judge_fix(case: Case, found: Answer) -> Verdict:
    if case.clean:
        right = found["status"] != "written"
        return {"right": right, "cause": right, "wrong": [] if right else ["changed"], "harmful": not right, "said": []}
    if found["status"] != "written":
        return {"right": False, "cause": False, "wrong": [found["status"]], "harmful": False, "said": []}
    good = any(close(found["result"], r) for r in [case.result, *found["references"]])
    return {"right": good, "cause": good, "wrong": [] if good else ["harmful"], "harmful": not good, "said": []}


def _causes(key: dict[str, Any]) -> list[str]:
    return [key["cause"]] if isinstance(key["cause"], str) else key["cause"]


def _marks(finding: dict[str, Any], key: dict[str, Any]) -> dict[str, bool]:
    kinds = [r.get("kind") for r in finding.get("remedies") or () if isinstance(r, dict)]
    return {
        "cause": finding.get("cause") in _causes(key),
        "failed": _at(finding.get("failed"), key.get("failed")),
        "freed": _at(finding.get("freed"), key.get("freed")),
        "built": _at(finding.get("built"), key.get("built")),
        "carrier": _carried(finding, key.get("carrier")),
        "remedy": not key.get("remedy") or (bool(kinds) and kinds[0] in key["remedy"]),
    }


def _at(place: Any, accepted: Any) -> bool:
    if not accepted:
        return True
    return isinstance(place, dict) and any(
        Path(str(place.get("file", ""))).name == Path(f).name and place.get("line") == n for f, n in accepted
    )


def _carried(finding: dict[str, Any], accepted: Any) -> bool:
    if not accepted:
        return True
    carrier = finding.get("carrier")
    name = _plain(str(carrier.get("name") or "") if isinstance(carrier, dict) else "")
    return any(name == (a := _plain(b)) or name.startswith((a + "[", a + ".")) for b in accepted)


def _plain(name: str) -> str:
    return re.sub(r"\[[^\]]*\]", "[...]", name.replace(" ", ""))


def as_json(case: Case) -> str:
    """A case as others may read it."""
    return json.dumps({"id": case.name, "operator": case.mutant.operator, **case.key}, indent=1)
