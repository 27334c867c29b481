# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs, plain and watched, in children of a process that has torch already: there are many of them."""

from __future__ import annotations

import atexit
import gc
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._dynamo  # every child would import it by itself, for its optimizer

from secondpass.commands._program import Program


@dataclass(frozen=True)
class Run:
    """How a program ended."""

    status: int
    out: str
    """Its output, and behind it what it has left in its names, to the last bit."""
    err: str
    findings: list[dict[str, Any]]


def forked(folder: Path, program: str, *, watched: bool) -> Run:
    """Runs a program that lies below a folder."""
    out, err, report = (folder / f"{watched}.{ending}" for ending in ("out", "err", "json"))
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps([str(folder), program, str(out), str(err), str(report) if watched else None]) + "\n")
    server.stdin.flush()
    status = json.loads(server.stdout.readline())
    findings = json.loads(report.read_text(encoding="utf-8"))["findings"] if watched and report.exists() else []
    return Run(status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"), findings)


@cache
def _server() -> subprocess.Popen[str]:
    """A process of its own: what the tests have in their frames would be looked at as the program's."""
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", __name__]
    return subprocess.Popen(
        command,
        cwd=Path(__file__).parents[1],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def serve() -> None:
    """A child for every line that is asked."""
    gc.freeze()
    for line in sys.stdin:
        folder, program, out, err, report = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 99
            try:
                status = _child(Path(folder), program, (Path(out), Path(err)), report and Path(report))
            finally:
                os._exit(status)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])), flush=True)


def _child(folder: Path, program: str, streams: tuple[Path, Path], report: Path | None) -> int:
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in enumerate(streams, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
    sys.excepthook = sys.__excepthook__
    atexit._clear()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if report is not None:
        # The module is taken when the program ends: it is the program's own.
        atexit.register(_print_digests)
        status = Program(program, (), json_file=str(report)).run()
    else:
        status = 0
        sys.path[0], sys.argv = str((folder / program).parent), [program]
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.__file__ = str(folder / program)
        atexit.register(_print_digests)
        try:
            exec(compile((folder / program).read_bytes(), main.__file__, "exec", dont_inherit=True), vars(main))
        except SystemExit as stop:
            status = stop.code
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 0 if status is None else 1


def _print_digests() -> None:
    """Whatever the program ends with. Only names that it keeps are looked at, so it says the same in both runs."""
    found: dict[str, str] = {}

    def put(name: str, t: torch.Tensor) -> None:
        t = t.detach()
        t = t.to_dense() if t.is_sparse else t
        data = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        found[name] = hashlib.sha256(data).hexdigest()

    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, torch.nn.Module):
            for inner, t in value.state_dict().items():
                put(f"{name}.{inner}", t)
            for inner, p in value.named_parameters():
                if p.grad is not None:
                    put(f"{name}.{inner}.grad", p.grad)
        elif isinstance(value, torch.Tensor):
            put(name, value)
    print(sorted(found.items()), hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest())


if __name__ == "__main__":
    serve()
