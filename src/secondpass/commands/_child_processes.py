# SPDX-License-Identifier: BSD-3-Clause
"""Programs that start their ranks themselves: the processes of `multiprocessing` and of torch's launchers are watched too.

NOTE [ How a child comes to be watched ]
1. `spawn` begins a new interpreter with a command line that it asks a function for: ours begins the same one, and puts
   the watch in place first. Where we cannot be imported there, the child runs as it would have.
2. `fork` inherits the watch.
3. `torch.multiprocessing.spawn` turns an exception into text for the parent, which shows one of them: so it gets its notes
   before that, and every rank's has all of it. Frames are folded in that text as they are in a traceback of our own.
4. torch's launchers (`torchrun`, and what is built on it) start the Python that PYTHON_EXEC names.
5. Lightning and Fabric start the program itself once more for every rank but their own, with LOCAL_RANK in its environment:
   it is started under us. Those ranks are children of the first one, not its siblings, so they are given its folder.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..session.ranks import FOLDER, run_folder
from ..watcher.loader import compile_marked
from ._uncaught import folded

__all__ = ["executable", "follow", "is_launcher", "spawn_main"]

_LAUNCHERS = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "torchrun"}


def is_launcher(program: str, as_module: bool) -> bool:
    """Whether a program only starts others: its ranks are to be watched, not itself."""
    return (program if as_module else os.path.basename(program)) in _LAUNCHERS


def executable(command: list[str]) -> str:
    """A Python for the ranks of torch's launchers (rule 4): runs what it is given under `secondpass run`, or `see`."""
    folder = tempfile.mkdtemp(prefix="secondpass-python-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "python"
    words = shlex.join([sys.executable, "-u", "-m", "secondpass", *command])
    path.write_text(f'#!/bin/sh\n[ "$1" = -u ] && shift\nexec {words} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def follow(program: Any) -> None:
    """Puts the watch over a program also over the processes that it starts. torch is there."""
    import multiprocessing.process
    import multiprocessing.spawn

    _follow_spawn(multiprocessing.spawn, program)
    _follow_run(multiprocessing.process.BaseProcess, program)
    _follow_scripts(subprocess.Popen, program)
    torch_spawn = sys.modules.get("torch.multiprocessing.spawn")
    if torch_spawn is not None:
        _follow_wrap(torch_spawn, program)


def _follow_scripts(popen: Any, program: Any) -> None:
    """Rule 5."""
    plain = popen.__init__
    if getattr(plain, "followed", False):
        return
    own = ["-m", program.program] if program.as_module else [os.path.abspath(sys.argv[0])]

    @functools.wraps(plain)
    def init(self: Any, args: Any, *rest: Any, **given: Any) -> None:
        env = given.get("env")
        words = list(args) if isinstance(args, (list, tuple)) else []
        if env and "LOCAL_RANK" in env and words[: 1 + len(own)] == [sys.executable, *own]:
            args = [sys.executable, "-m", "secondpass", *program.command(), *words[1:]]
            given["env"] = {**env, FOLDER: str(run_folder())}
        plain(self, args, *rest, **given)

    init.followed = True  # type: ignore[attr-defined]
    popen.__init__ = init


def _follow_spawn(module: Any, program: Any) -> None:
    plain = module.get_command_line
    if getattr(plain, "followed", False):
        return
    settings = program.settings()

    @functools.wraps(plain)
    def get_command_line(**kwds: Any) -> list[str]:
        line: list[str] = plain(**kwds)
        try:
            at = line.index("-c") + 1
        except ValueError:
            return line
        ours = f"from secondpass.commands._child_processes import spawn_main; spawn_main({settings!r}, {kwds!r})"
        code = f"try:\n    import secondpass.commands._child_processes\nexcept ImportError:\n    {line[at]}\nelse:\n    {ours}"
        return [*line[:at], code, *line[at + 1 :]]

    get_command_line.followed = True  # type: ignore[attr-defined]
    module.get_command_line = get_command_line


def _follow_run(process: Any, program: Any) -> None:
    plain = process.run
    if getattr(plain, "followed", False):
        return

    @functools.wraps(plain)
    def run(self: Any) -> None:
        if not program.is_child:
            plain(self)
            return
        try:
            plain(self)
        except BaseException as error:
            program.child_raised(error, each=False)
            raise
        program.child_ended()

    run.followed = True  # type: ignore[attr-defined]
    process.run = run


def _follow_wrap(module: Any, program: Any) -> None:
    plain = getattr(module, "_wrap", None)
    if plain is None or getattr(plain, "followed", False):
        return

    @functools.wraps(plain)
    def _wrap(fn: Any, i: int, args: Any, error_file: Any) -> None:
        folds: list[bool] = []

        @functools.wraps(fn)
        def watched(*given: Any) -> Any:
            try:
                return fn(*given)
            except BaseException as error:
                program.child_raised(error, each=True)
                folds.append(program.folds(error))
                raise

        try:
            plain(watched, i, args, error_file)
        except SystemExit:
            if any(folds):
                _fold(error_file)
            raise

    _wrap.followed = True  # type: ignore[attr-defined]
    module._wrap = _wrap


def _fold(error_file: str) -> None:
    """Folds the frames of the traceback that a rank has left for its parent."""
    try:
        text = pickle.loads(Path(error_file).read_bytes())
        if isinstance(text, str):
            Path(error_file).write_bytes(pickle.dumps(folded(text)))
    except Exception:
        pass  # then it is longer


def spawn_main(settings: dict[str, Any], given: dict[str, Any]) -> None:
    """What a spawned child runs in the place of the standard library's function of this name (rule 1)."""
    import multiprocessing.spawn

    from ._program import Program

    program = Program.child(settings)
    plain = runpy.run_path

    def run_path(path_name: str, init_globals: Any = None, run_name: str | None = None) -> Any:
        if run_name == "__mp_main__" and program.lines and str(path_name).endswith(".py"):
            try:
                code = compile_marked(Path(path_name).read_bytes(), path_name, program.log, os.path.realpath(path_name))
                run_code = runpy._run_module_code  # type: ignore[attr-defined]
            except Exception:
                code = None  # Python says it better
            if code is not None:
                return run_code(code, init_globals, run_name, pkg_name="", script_name=path_name)
        return plain(path_name, init_globals, run_name or "<run_path>")

    runpy.run_path = run_path
    multiprocessing.spawn.spawn_main(**given)
