# SPDX-License-Identifier: BSD-3-Clause
"""Running somebody's program as Python itself would, under watch.

NOTE [ As in a plain run ]
1. torch is not imported before the program imports it: programs set environment variables that torch reads on import.
2. `__main__` is the program's own module; `sys.argv`, `sys.path[0]`, relative imports and `__file__` are as Python sets
   them.
3. What the program raises goes to `sys.excepthook` without our frames; its exit status is ours.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

import click

from ..record import Report
from ..watch.lines import Log
from ..watch.loader import NAME, Finder, compile_marked

__all__ = ["Program"]

_MODULE = "__main__"


class Program:
    """A program, its arguments, and the watch over it."""

    def __init__(
        self,
        program: str,
        arguments: tuple[str, ...],
        *,
        as_module: bool = False,
        lines: bool = True,
        json_file: str | None = None,
        quiet: bool = False,
    ) -> None:
        self.program, self.arguments, self.as_module = program, arguments, as_module
        self.json_file, self.quiet = json_file, quiet
        self.log = Log()
        self.lines = lines
        self.session: Any = None
        self.finder: Finder | None = None
        self.pid = os.getpid()

    def run(self) -> int | str | None:
        """Runs it; returns what it would exit with."""
        if self.json_file:
            _check_writable(self.json_file)
        code, module = self._load()
        assert self.finder is not None
        self.finder.install()
        # It stays there: threads and exit handlers of the program may need it after the end.
        sys.modules[_MODULE] = module
        ended, status = False, 0
        try:
            exec(code, module.__dict__)
            ended = True
        except SystemExit as stop:
            status, ended = stop.code, stop.code in (None, 0)  # type: ignore[assignment]
        except BaseException as error:
            status = self._raised(error)
            if isinstance(error, KeyboardInterrupt):
                ended = True
        finally:
            if os.getpid() == self.pid:
                self._finish(ended, status)
            self.finder.uninstall()
        return status

    # -- loading -----------------------------------------------------------------------------------------------------

    def _load(self) -> tuple[CodeType, ModuleType]:
        file, package, spec = self._find()
        root = file.parent
        if package:
            for _ in package.split("."):
                root = root.parent
        self.finder = Finder(root, self.log, on_torch=self._start, mark=self.lines)
        sys.argv = [str(file) if self.as_module else self.program, *self.arguments]
        if self.as_module:
            sys.path[0] = os.getcwd()
        else:
            sys.path[0] = str(file.parent)
        module = ModuleType(_MODULE)
        module.__file__ = str(file) if self.as_module else self.program
        module.__builtins__ = __builtins__  # type: ignore[attr-defined]
        module.__package__ = package or (None if not self.as_module else "")
        module.__spec__ = spec
        module.__loader__ = spec.loader if spec is not None else None
        if self.lines:
            module.__dict__[NAME] = self.log.mark
        return self._compile(file), module

    def _find(self) -> tuple[Path, str | None, Any]:
        if not self.as_module:
            return _program_file(self.program), None, None
        sys.path.insert(0, os.getcwd())
        name = self.program
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                name += ".__main__"
                spec = importlib.util.find_spec(name)
        except (ImportError, ValueError) as error:
            raise click.UsageError(f"no module named {self.program!r}: {error}") from None
        finally:
            del sys.path[0]
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            raise click.UsageError(f"no Python module named {self.program!r} (looked from {os.getcwd()})")
        return Path(spec.origin), name.rpartition(".")[0], spec

    def _compile(self, file: Path) -> CodeType:
        try:
            source = file.read_bytes()
        except OSError as error:
            raise click.UsageError(f"cannot read {self.program}: {error.strerror}") from None
        name = str(file) if self.as_module else self.program
        if self.lines:
            try:
                return compile_marked(source, name, self.log, str(file.resolve()))
            except SyntaxError:
                pass  # Python says it better: without our marks
            except Exception:
                self.lines = False
        try:
            return compile(source, name, "exec", dont_inherit=True)
        except SyntaxError as error:
            sys.excepthook(SyntaxError, error, None)
            raise SystemExit(1) from None

    # -- watching ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """torch has just been imported."""
        try:
            from ..watch.session import Session
            from ..watch.version import reason_not_to_watch

            reason = reason_not_to_watch()
            if reason:
                print(f"secondpass: {reason}; the program runs unwatched", file=sys.stderr)
                return
            assert self.finder is not None
            self.session = Session(self.finder.root, self.log if self.lines else None)
            self.session.start()
        except Exception as error:
            self.session = None
            print(f"secondpass: cannot watch: {type(error).__name__}: {error}", file=sys.stderr)

    def _raised(self, error: BaseException) -> int:
        if self.session is not None:
            self.session.raised(error)
        traceback = _without_ours(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        return 130 if isinstance(error, KeyboardInterrupt) else 1

    def _finish(self, ended: bool, status: Any) -> None:
        report = Report(program=self._about(status))
        if self.session is not None:
            try:
                self.session.finish(ended=ended)
                self.session.stop()
                report = self.session.report(self._about(status))
                if not self.quiet:
                    self._say(report)
            except Exception as error:
                print(f"secondpass: no report: {type(error).__name__}: {error}", file=sys.stderr)
        if self.json_file:
            _write(self.json_file, report.to_json())

    def _say(self, report: Report) -> None:
        """What the user's exception has not already said."""
        from dataclasses import replace

        from ..render import color_for
        from ..render.text import render

        quiet = replace(report, findings=tuple(self.session.unsaid()))
        text = render(quiet, color=color_for(sys.stderr), width=80)
        if text:
            sys.stdout.flush()
            print("\n" + text, end="", file=sys.stderr)

    def _about(self, status: Any) -> dict[str, Any]:
        return {"argv": [self.program, *self.arguments], "exit": status if isinstance(status, int) else 0 if status is None else 1}


def _program_file(program: str) -> Path:
    path = Path(program)
    if path.suffix == ".ipynb":
        raise click.UsageError(
            f"{program} is a notebook. In it, use `%load_ext secondpass.plugins.ipython`; "
            "or turn it into a program with `jupyter nbconvert --to script`."
        )
    if path.is_dir():
        inner = path / "__main__.py"
        if not inner.is_file():
            raise click.UsageError(f"{program} is a folder without a __main__.py.")
        return inner
    if not path.is_file():
        hint = " To run a module, say `secondpass run -m`." if not path.suffix else ""
        raise click.UsageError(f"no such program: {program}.{hint}")
    return path


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the user's program."""
    here = str(Path(__file__).resolve())
    while traceback is not None and traceback.tb_frame.f_code.co_filename == here:
        traceback = traceback.tb_next
    return traceback


def _check_writable(file: str) -> None:
    parent = Path(file).resolve().parent
    if not parent.is_dir():
        raise click.UsageError(f"cannot write {file}: {parent} is no folder")
    if not os.access(parent, os.W_OK) or (Path(file).exists() and not os.access(file, os.W_OK)):
        raise click.UsageError(f"cannot write {file}: permission denied")


def _write(file: str, text: str) -> None:
    rank = os.environ.get("RANK", "0")
    path = Path(file if rank == "0" else f"{file}.rank{rank}")
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"secondpass: cannot write {path}: {error.strerror}", file=sys.stderr)

