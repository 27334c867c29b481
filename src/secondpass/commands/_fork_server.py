# SPDX-License-Identifier: BSD-3-Clause
"""Starts runs quickly: a process that has torch imported forks for each of them.

`secondpass fix` runs one program many times, and most of a short run is importing. Requests come as lines of JSON on
standard input; for each, a line with the child's number goes out, and one with its exit status when it has ended.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, TextIO

__all__ = ["serve"]

_IMPORTED = (
    "torch",
    "torch._dynamo",  # the first optimizer of a program imports it
    "secondpass.commands.run",
    "secondpass.commands._program",
    "secondpass.session.session",
    "secondpass.watcher.proofline",
)


def serve() -> None:
    """Answers until standard input ends."""
    for name in _IMPORTED:
        importlib.import_module(name)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    alone = not os.path.isdir("/proc/self/task") or len(os.listdir("/proc/self/task")) == 1
    _say(out, ready=alone, modules=sorted({n.partition(".")[0] for n in sys.modules}))
    # Ctrl-C is for the program and for whoever started us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _be(request)
            _run(request["words"])
        _say(out, pid=child)
        _, status = os.waitpid(child, 0)
        _say(out, status=os.waitstatus_to_exitcode(status))


def _run(words: list[str]) -> None:
    """Starts a command, and ends as a process of its own does: its threads, its exit functions, its output.

    What Python takes down after that, module by module, is most of a short run's time: the child has all of torch.
    """
    from . import main

    status: object = 0
    try:
        main(words, prog_name="secondpass")
    except SystemExit as leaving:
        status = leaving.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    if not isinstance(status, int | None):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit((status or 0) & 0xFF)


def _say(out: TextIO, **what: Any) -> None:
    out.write(json.dumps(what) + "\n")


def _be(request: dict[str, Any]) -> None:
    """Makes the child what a fresh process would be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    null = os.open(os.devnull, os.O_RDWR)
    errors = os.open(request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, handle in ((0, null), (1, null), (2, errors)):
        os.dup2(handle, stream)
    os.closerange(3, 64)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv = ["secondpass", *request["words"]]
