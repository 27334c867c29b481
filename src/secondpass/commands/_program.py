# SPDX-License-Identifier: BSD-3-Clause
"""Running somebody's program as Python itself would, under watch.

NOTE [ As in a plain run ]
1. torch is not imported before the program imports it: programs set environment variables that torch reads on import.
2. `__main__` is the program's own module; `sys.argv`, `sys.path[0]`, relative imports and `__file__` are as Python sets
   them.
3. What the program raises goes to `sys.excepthook` without our frames; its exit status is ours.
"""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import click

from ..record import Report, Trace, to_plain
from ..render import color_for
from ..session import adopt
from ..watcher.loader import Finder, compile_marked
from ..watcher.log import Log
from ._child_processes import executable, follow, is_launcher
from ._find_program import module_root, program_file, put_first
from ._output_file import ranked
from ._uncaught import die_of_interrupt, is_folded, show, without_ours, without_torch

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
        trace_file: str | None = None,
        page_file: str | None = None,
        events_file: str | None = None,
        ledgers: int | None = None,
        full_traceback: bool = False,
        quiet: bool = False,
    ) -> None:
        self.full_traceback = full_traceback
        self.program, self.arguments, self.as_module = program, arguments, as_module
        self.json_file, self.trace_file, self.quiet = json_file, trace_file, quiet
        self.page_file, self.events_file, self.ledgers = page_file, events_file, ledgers
        self.recorder: Any = None
        self.error: str | None = None
        self.log = Log()
        self.lines = lines
        self.session: Any = None
        self.trace = Trace()
        self.finder: Finder | None = None
        self.pid = os.getpid()
        self.environment = dict(os.environ)
        self.began = time.time()
        self._spawned = self._child_done = False
        self.launches = is_launcher(program, as_module)

    def run(self) -> int | str | None:
        """Runs it; returns what it would exit with."""
        if self.launches and "PYTHON_EXEC" not in os.environ:
            os.environ["PYTHON_EXEC"] = executable(self.command())
            self.json_file = self.trace_file = self.page_file = self.events_file = None  # the ranks write them
        code, module = self._load()
        assert self.finder is not None
        # It stays there: threads and exit handlers of the program may need it after the end.
        sys.modules[_MODULE] = module
        # Registered first, so that it comes last.
        atexit.register(die_of_interrupt)
        ended, status, interrupted = False, 0, False
        try:
            exec(code, module.__dict__)
            ended = True
        except SystemExit as stop:
            status = stop.code  # type: ignore[assignment]
            ended = status is None or status is False or (isinstance(status, int) and status == 0)
        except BaseException as error:
            status = self._raised(error)
            ended = interrupted = isinstance(error, KeyboardInterrupt)
        finally:
            if os.getpid() == self.pid:
                self._finish(ended, status)
            self.finder.uninstall()
            if not interrupted:
                atexit.unregister(die_of_interrupt)
        return status

    # -- the processes that it starts ----------------------------------------------------------------------------------

    @property
    def is_child(self) -> bool:
        """Whether this is a process that the program has started."""
        return self._spawned or os.getpid() != self.pid

    def settings(self) -> dict[str, Any]:
        """What a spawned child has to know."""
        assert self.finder is not None
        return {
            "program": self.program,
            "arguments": self.arguments,
            "root": str(self.finder.root),
            "lines": self.lines,
            "quiet": self.quiet,
            "ledgers": self.ledgers,
            "full_traceback": self.full_traceback,
            **{name: file and os.path.abspath(file) for name, file in self._files().items()},
        }

    def _files(self) -> dict[str, str | None]:
        names = ("json_file", "trace_file", "page_file", "events_file")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def child(cls, settings: dict[str, Any]) -> Program:
        """The watch over a program in a process that it has spawned."""
        program, arguments, root = (settings.pop(name) for name in ("program", "arguments", "root"))
        made = cls(program, tuple(arguments), **settings)
        made._spawned = True
        made._watch_imports(Path(root))
        return made

    def child_raised(self, error: BaseException, *, each: bool) -> None:
        """A process that the program has started ends by an exception, which somebody else shows."""
        if self.session is not None and not self._child_done:
            self._child_done = True
            if isinstance(error, SystemExit) and not error.code:
                self._finish(True, 0)
            else:
                self.session.raised(error, each=each)
                self._finish(False, 1)

    def folds(self, error: BaseException) -> bool:
        """Whether an exception is explained, and frames of libraries need not be shown."""
        return not (self.full_traceback or self.quiet) and self.session is not None and bool(self.session.notes(error))

    def child_ended(self) -> None:
        """A process that the program has started has done its work."""
        if self.session is not None and not self._child_done and self.session.watcher.ledger.passes:
            self._child_done = True
            self._finish(True, 0)

    def command(self) -> list[str]:
        """The command that watches each of the ranks as this one would."""
        if self.ledgers is not None:
            command = ["see", "--steps", str(self.ledgers)]
            files = {"--out": self.page_file, "--trace": self.events_file}
        else:
            command = ["run", *["--no-lines"] * (not self.lines)]
            files = {"--json": self.json_file, "--trace": self.trace_file, "--page": self.page_file}
        words = [word for name, file in files.items() if file for word in (name, os.path.abspath(file))]
        return [*command, *words, *["--quiet"] * self.quiet]

    # -- loading -----------------------------------------------------------------------------------------------------

    def _load(self) -> tuple[CodeType, ModuleType]:
        file, spec = self._find_module() if self.as_module else self._find_file()
        # As Python makes it: the working directory before it, and nothing else normalised.
        name = str(file) if self.as_module or spec is not None else os.path.join(os.getcwd(), self.program)
        code = self._compile(file, name)
        module = ModuleType(_MODULE)
        module.__file__ = name
        module.__builtins__ = builtins  # type: ignore[attr-defined]
        module.__annotations__ = {}
        module.__spec__ = spec
        module.__cached__ = spec.cached if spec is not None else None  # type: ignore[attr-defined]
        module.__package__ = spec.parent if spec is not None else None
        if spec is not None:
            module.__loader__ = spec.loader
        else:
            module.__loader__ = importlib.machinery.SourceFileLoader(_MODULE, name)
        if self.lines:
            module.__dict__.update(self.log.names)
        return code, module

    def _watch_imports(self, root: Path) -> None:
        self.finder = Finder(root, self.log, on_torch=self._start, mark=self.lines)
        self.finder.install()
        if "torch" in sys.modules:
            self._start()

    def _find_file(self) -> tuple[Path, Any]:
        file = program_file(self.program)
        real = file.resolve()
        spec = None
        folder = str(real.parent)
        if Path(self.program).is_dir():
            folder = str(file.parent)
            spec = importlib.util.spec_from_file_location(_MODULE, file)
        sys.argv = [self.program, *self.arguments]
        put_first(folder)
        self._watch_imports(real.parent)
        return file, spec

    def _find_module(self) -> tuple[Path, Any]:
        here = os.getcwd()
        put_first(here)
        name = self.program
        sys.argv = ["-m", *self.arguments]
        # The parent packages are imported in order to find the module: they are the user's too.
        self._watch_imports(module_root(name, Path(here)))
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                name += ".__main__"
                spec = importlib.util.find_spec(name)
        except (ImportError, ValueError) as error:
            assert self.finder is not None
            self.finder.uninstall()
            raise click.UsageError(f"no module named {self.program!r}: {error}") from None
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            assert self.finder is not None
            self.finder.uninstall()
            raise click.UsageError(f"no Python module named {self.program!r} (looked from {here})")
        sys.argv[0] = spec.origin
        return Path(spec.origin), spec

    def _compile(self, file: Path, name: str) -> CodeType:
        try:
            source = file.read_bytes()
        except OSError as error:
            raise click.UsageError(f"cannot read {self.program}: {error.strerror}") from None
        if self.lines and (not self.as_module or self.finder is None or self.finder.owns(str(file))):
            try:
                return compile_marked(source, name, self.log, str(file.resolve()))
            except SyntaxError:
                pass  # Python says it better: without our marks
            except Exception:
                self.lines = False
        try:
            return compile(source, name, "exec", dont_inherit=True)
        except Exception as error:  # bad syntax, null bytes, too deep
            sys.excepthook(type(error), error.with_traceback(None), None)
            raise SystemExit(1) from None

    # -- watching ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """torch has just been imported."""
        try:
            from ..watcher.version import reason_not_to_watch

            reason = reason_not_to_watch()
            if reason:
                print(f"secondpass: {reason}; the program runs unwatched", file=sys.stderr)
                return
            from ..session.session import Session

            assert self.finder is not None
            self.session = Session(self.finder.root, self.log if self.lines else None)
            if self.trace_file or self.page_file or self.events_file:
                self.session.on_trace = self._observed
            self.session.share()
            self.session.start()
            adopt(self.session)
            follow(self)
            if self.ledgers is not None:
                from ..see.recorder import Recorder

                self.recorder = Recorder(self.session.watcher, self.ledgers)
                self.recorder.start()
            self._write_proof_lines()
        except Exception as error:
            self.session = None
            print(f"secondpass: cannot watch: {type(error).__name__}: {error}", file=sys.stderr)

    def _write_proof_lines(self) -> None:
        """Where `secondpass fix` asks for them: see `watcher.proofline`."""
        from ..watcher.proofline import ProofLines

        if ProofLines.wanted():
            from torch.optim.optimizer import register_optimizer_step_pre_hook

            watcher, before = self.session.watcher, self.session.watcher.on_pass
            lines = ProofLines(self.log if self.lines else None, watcher.leaves, watcher.files, self._stop_here)
            lines.on_torch(changed=self.environment != dict(os.environ))

            def on_pass(note: Any, outputs: Any, gradients: Any) -> None:
                before(note, outputs, gradients)
                lines.on_pass(note, outputs, gradients)

            watcher.on_pass, watcher.brief = on_pass, False
            register_optimizer_step_pre_hook(lines.on_step)

    def _stop_here(self) -> None:
        """Ends the program in the middle of a pass, as if it had come to its end."""
        self._finish(True, 0)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _observed(self, trace: Trace) -> None:
        self.trace = trace

    def _raised(self, error: BaseException) -> Any:
        self.error = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}".removesuffix(": ")
        error = error.with_traceback(without_ours(error.__traceback__))
        status: Any = 1

        def shown() -> None:
            nonlocal status
            painted: dict[str, str] = {}
            told = self.session.notes(error) if self.session is not None else []
            if self.quiet:
                painted = {f"{note}\n": "" for note in told}
            elif self.session is not None and color_for(sys.stderr):
                painted = self.session.painted(error)
            # An error that is not of our family is shown as Python shows it: its frames may be all that there is to see.
            known = bool(told) or is_folded(error)
            status = show(error, whole=self.full_traceback or self.quiet or not known, painted=painted)

        if self.session is not None:
            self.session.raised(error, shown)
        else:
            shown()
            hint = without_torch() if isinstance(error, ModuleNotFoundError) else ""
            if hint and not self.quiet:
                print(f"\n{hint}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else status

    def _finish(self, ended: bool, status: Any) -> None:
        report = Report(program=self._about(status))
        if self.session is not None:
            try:
                if self.recorder is not None:
                    self.recorder.stop()
                self.session.finish(ended=ended)
                self.session.stop()
                adopt(None)
                self.session.tell(quiet=self.quiet)
                report = self.session.report(self._about(status))
            except Exception as error:
                print(f"secondpass: no report: {type(error).__name__}: {error}", file=sys.stderr)
        if self.json_file:
            self._write_report(self.json_file, report)
        if self.session is not None and self.session.ranks is not None:
            self.session.ranks.leave()
        if self.session is not None and not self.is_child:
            from ..session.ranks import clean_up

            clean_up()
        if self.trace_file and not self._ranks_wrote(self.trace_file):
            _write(self.trace_file, json.dumps(to_plain(self.trace)))
        page = self.page_file or self.events_file
        if page and not self._ranks_wrote(page) and not (self.session is None and without_torch()):
            self._write_page(report)

    def _write_page(self, report: Report) -> None:
        from ..see import chrome, page
        from ..see.page_data import page_data

        torch = sys.modules.get("torch")
        about = self._about(0)
        program = {
            "file": os.path.relpath(self.program) if not self.as_module else self.program,
            "args": list(self.arguments),
            "status": report.program.get("exit", about["exit"]),
            "torch": getattr(torch, "__version__", None),
            "device": "cuda" if torch is not None and torch.cuda.is_initialized() else "cpu",
            "error": self.error,
            "rank": int(os.environ["RANK"]) if os.environ.get("RANK", "").isdigit() else None,
        }
        file = self.page_file
        try:
            data = page_data(report, self.trace, program, self.recorder)
            for file, write in ((self.page_file, page.write), (self.events_file, chrome.write)):
                if not file:
                    continue
                if write is page.write and file.endswith(".json"):
                    Path(ranked(file)).write_text(json.dumps(data, default=str) + "\n", encoding="utf-8")
                else:
                    write(data, ranked(file))
                if not self.quiet:
                    print(f"secondpass: wrote {ranked(file)}", file=sys.stderr)
        except OSError as error:
            print(f"secondpass: no page: cannot write {file}: {error.strerror or error}", file=sys.stderr)
        except Exception as error:
            if os.environ.get("SECONDPASS_DEBUG"):
                raise
            print(f"secondpass: no page: {type(error).__name__}: {error}", file=sys.stderr)

    def _write_report(self, file: str, report: Report) -> None:
        """What all ranks have found goes into the file itself, written by the one that has told it; what each has found by
        itself goes beside it."""
        merged = self.session.merged if self.session is not None else None
        if merged is not None:
            Path(file).write_text(replace(report, findings=merged).to_json() + "\n", encoding="utf-8")
        beside = ranked(file)
        if beside != file or (merged is None and not self._told_by_another() and not self._ranks_wrote(file)):
            _write(file, report.to_json())

    def _ranks_wrote(self, file: str) -> bool:
        """Whether processes that this one has started have written what they found."""
        try:
            return (
                not self.is_child
                and os.path.getmtime(file) > self.began
                and self.session is not None
                and not self.session.watcher.ledger.passes
            )
        except OSError:
            return False

    def _told_by_another(self) -> bool:
        return self.session is not None and self.session.ranks is not None and self.session.ranks.told_by_another

    def _about(self, status: Any) -> dict[str, Any]:
        return {
            "argv": [self.program, *self.arguments],
            "exit": status if isinstance(status, int) else 0 if status is None else 1,
            **self._among(),
        }

    def _among(self) -> dict[str, int]:
        ranks = self.session.ranks if self.session is not None else None
        return {"rank": ranks.rank, "ranks": ranks.world} if ranks is not None else {}


def _write(file: str, text: str) -> None:
    path = Path(ranked(file))
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"secondpass: cannot write {path}: {error.strerror}", file=sys.stderr)
