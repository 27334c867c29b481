# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs quickly: libraries are imported once, every program gets a forked process of its own.

Requests and answers are lines of JSON on standard input and output. What a program prints goes to files of its folder's
neighbour, so that its own folder holds nothing that it did not write.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import math
import os
import pkgutil
import resource
import select
import signal
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from . import inside

# What programs, and the tool for them, import anyhow: a child that finds it there does not import it again.
_TOOL = (
    "autograd",
    "causes",
    "check",
    "commands",
    "record",
    "remedies",
    "render",
    "session",
    "source",
    "torchgraph",
    "watcher",
)


def serve(kind: str) -> None:
    """Answers requests until standard input ends."""
    import torch

    torch.set_num_threads(1)
    for module in ("numpy", "torch._dynamo", "torch.profiler._cupti_monitor", *_modules()):
        with suppress(ImportError):
            importlib.import_module(module)
    if kind == "lightning":
        import lightning  # noqa: F401
    if kind == "transformers":
        import accelerate  # noqa: F401
        import transformers

        transformers.Trainer  # noqa: B018  # its modules are imported on first use
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        # torch.library has thousands, each for a registration that ends with the process anyhow: 30 ms in every child.
        finalizer.atexit = False
    # Ctrl-C is for whoever asks: they tell us to leave, and the running program goes with us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    gc.freeze()  # a child's collections need not walk over what is here already, nor copy its pages
    _join_pages()
    out = os.fdopen(os.dup(1), "w")
    out.write("ready\n")
    out.flush()
    for line in sys.stdin:
        request = json.loads(line)
        out.write(json.dumps(answer(request)) + "\n")
        out.flush()


def _modules() -> Iterator[str]:
    import secondpass

    for name in _TOOL:
        folders = [f"{folder}/{name}" for folder in secondpass.__path__]
        yield f"secondpass.{name}"
        yield from (m.name for m in pkgutil.walk_packages(folders, f"secondpass.{name}."))


def _join_pages() -> None:
    """Lets the kernel join what is in memory now into large pages: a fork of 250 MB in small ones takes 20 ms, of large ones 5.

    Linux 6.1 can; elsewhere it is only slower.
    """
    huge, size, writable = (14, 25), 1 << 21, "rw-p"  # MADV_HUGEPAGE, MADV_COLLAPSE
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text(encoding="ascii", errors="replace").splitlines():
            addresses, access, *_, inode = line.split()[:5]
            begin, end = (int(x, 16) for x in addresses.split("-"))
            begin, end = -(-begin // size) * size, end // size * size
            if access == writable and inode == "0" and begin < end:
                for advice in huge:
                    advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), advice)


_PATIENCE = 6
"""Limits are seconds of work; a program that does nothing, or on a machine that does much else, may take longer by this."""
_running: list[int] = []
"""The program that runs now."""


def _kill(child: int) -> None:
    """Ends a program and what it started."""
    for kill in (os.killpg, os.kill):  # it may not have a group yet
        with suppress(ProcessLookupError):
            kill(child, signal.SIGKILL)


def _leave(*_: object) -> None:
    for child in _running:
        _kill(child)
    os._exit(0)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Forks, lets the child do what is asked, and waits for it."""
    work = Path(request["work"])
    reply = work / "answer.json"
    reply.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _child(request, work, reply)
    _running[:] = [child]
    limit = _PATIENCE * request["limit"]
    if hasattr(os, "pidfd_open"):  # nothing wakes up until it is over
        handle = os.pidfd_open(child)
        select.select([handle], [], [], limit)
        os.close(handle)
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        if time.monotonic() - began > limit:
            _kill(child)
            os.waitpid(child, 0)
            _running.clear()
            return {"status": "timeout", "seconds": time.monotonic() - began}
        time.sleep(0.004)
    _, status, used = ended
    took = time.monotonic() - began
    _running.clear()
    try:
        found = json.loads(reply.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        code = os.waitstatus_to_exitcode(status)
        found = {"status": "timeout" if code == -signal.SIGXCPU else "died", "code": code}
    return {"seconds": took, "cpu": used.ru_utime + used.ru_stime, **found}


def _child(request: dict[str, Any], work: Path, reply: Path) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(request["limit"]), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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

    if words[0] == "fix":
        _warm()
    sys.argv = ["secondpass", *words]
    sys.path[0] = os.getcwd()
    try:
        main(words, standalone_mode=True)
    except SystemExit as leaving:
        code = leaving.code
        return {"status": "ok", "code": code if isinstance(code, int) else 0 if code is None else 1}
    except Exception as error:
        return {"status": "crashed", "code": 1, "message": repr(error)}
    return {"status": "ok", "code": 0}


class _Starting:
    """The process from which `fix` starts its runs, forked from this one instead of importing everything once more."""

    def __init__(self) -> None:
        from secondpass.remedies.prove.fork import _SERVER

        requests, asked = os.pipe()
        answered, answers = os.pipe()
        self.pid, self.ended = os.fork(), False
        if self.pid == 0:
            for old, new in ((requests, 0), (answers, 1)):
                os.dup2(old, new)
            for handle in (requests, asked, answered, answers):
                os.close(handle)
            sys.stdin, code = os.fdopen(0), 0
            try:
                exec(_SERVER, {"__name__": "__main__"})
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
            except BaseException:
                code = 1
            atexit._run_exitfuncs()
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)
        for handle in (requests, answers):
            os.close(handle)
        self.stdin, self.stdout = os.fdopen(asked, "wb"), os.fdopen(answered, "rb", buffering=0)

    def poll(self) -> int | None:
        if not self.ended:
            self.ended = bool(os.waitpid(self.pid, os.WNOHANG)[0])
        return 0 if self.ended else None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        if not self.ended:
            os.waitpid(self.pid, 0)
            self.ended = True


def _warm() -> None:
    """Lets every run of a coming `fix` be forked, the first one too."""
    from secondpass.remedies.prove import fork, rounds

    made = fork.Starter(_Starting())  # type: ignore[arg-type]
    made._answer(60.0)
    made.warm = True

    @contextmanager
    def starter() -> Iterator[fork.Starter]:
        try:
            yield made
        finally:
            made.close()

    rounds.starter = starter


if __name__ == "__main__":
    serve(sys.argv[1])
