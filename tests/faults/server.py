# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs quickly: libraries are imported once, every program gets a forked process of its own.

Requests and answers are lines of JSON on standard input and output. What a program prints goes to files of its folder's
neighbour, so that its own folder holds nothing that it did not write.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import inside

# What programs, and the tool for them, import anyhow. One that is not there is imported by the child that needs it.
_TOOL = (
    "torch._dynamo",
    "numpy",
    "secondpass.commands.run",
    "secondpass.commands.check",
    *(
        f"secondpass.{m}"
        for m in (
            "session.session",
            "watcher.watcher",
            "watcher.trace",
            "remedies",
            "check.read",
            "check.project",
            "causes",
            "render",
        )
    ),
)


def serve(kind: str) -> None:
    """Answers requests until standard input ends."""
    import torch

    torch.set_num_threads(1)
    for module in _TOOL:
        with suppress(ImportError):
            importlib.import_module(module)
    if kind == "lightning":
        import lightning  # noqa: F401
    if kind == "transformers":
        import accelerate  # noqa: F401
        import transformers

        transformers.Trainer  # noqa: B018  # its modules are imported on first use
    out = os.fdopen(os.dup(1), "w")
    out.write("ready\n")
    out.flush()
    for line in sys.stdin:
        request = json.loads(line)
        out.write(json.dumps(answer(request)) + "\n")
        out.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Forks, lets the child do what is asked, and waits for it."""
    work = Path(request["work"])
    reply = work / "answer.json"
    reply.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _child(request, work, reply)
    status, waited = 0, 0.0
    while waited < request["limit"]:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.004)
        waited = time.monotonic() - began
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"status": "timeout", "seconds": waited}
    took = time.monotonic() - began
    try:
        found = json.loads(reply.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {"status": "died", "code": os.waitstatus_to_exitcode(status)}
    return {"seconds": took, **found}


def _child(request: dict[str, Any], work: Path, reply: Path) -> None:
    os.setpgid(0, 0)
    folder = work / "program"
    os.chdir(folder)
    for stream, name in ((1, "out.txt"), (2, "err.txt")):
        handle = os.open(work / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, stream)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    # The parent's server module must not be the program's `__main__`.
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    folder = folder.resolve()
    mode = request["mode"]
    found: dict[str, Any] = {}
    try:
        if mode == "plain":
            found = inside.plain(folder, tuple(request.get("probe", ())))
        elif mode == "survey":
            found = inside.survey(folder)
        elif mode == "oracle":
            found = inside.oracle(folder, request["tags"])
        else:
            found = _command(request["command"])
    except BaseException as error:  # ours: the reader of the answer will see it
        import traceback

        found = {"status": "fault", "message": f"{error}\n{traceback.format_exc()}"}
    if mode == "command":
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    reply.write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)


def _command(words: list[str]) -> dict[str, Any]:
    """A sub-command of secondpass, as a shell would start it."""
    from secondpass.commands import main

    sys.argv = ["secondpass", *words]
    sys.path[0] = os.getcwd()
    try:
        main(words, standalone_mode=True)
    except SystemExit as leaving:
        code = leaving.code
        return {"status": "ok", "code": code if isinstance(code, int) else 0 if code is None else 1}
    return {"status": "ok", "code": 0}


if __name__ == "__main__":
    serve(sys.argv[1])
