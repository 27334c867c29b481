# SPDX-License-Identifier: BSD-3-Clause
"""The work behind `secondpass check`: settings, reading, what is left out, what is printed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..check import Settings, read
from ..check.limits import unswept
from ..record import Finding, Report

__all__ = ["Check"]

CACHE = ".secondpass_cache"


class Check:
    """One call of the command."""

    def __init__(self, paths: tuple[str, ...], options: dict[str, Any]) -> None:
        from ..check.files.config import load

        self.paths = list(paths) or ["."]
        self.options = options
        self.config, self.problem = load(Path.cwd())
        self.format = options["output_format"] or self.config.get("output-format") or "full"
        self.unsafe = options["unsafe_fixes"] or bool(self.config.get("unsafe-fixes"))
        self.baseline = options["baseline"] or self.config.get("baseline")

    def settings(self) -> Settings:
        """What the command line says, or else the configuration."""

        def words(name: str) -> tuple[str, ...]:
            given = [w for part in self.options[name] for w in part.split(",") if w.strip()]
            return tuple(w.strip() for w in given or self.config.get(name, []))

        return Settings(
            select=words("select"),
            ignore=words("ignore"),
            exclude=(*self.config.get("exclude", []), *(w for p in self.options["exclude"] for w in p.split(","))),
            respect_gitignore=not self.options["no_respect_gitignore"] and self.config.get("respect-gitignore", True),
            cache=None if self.options["no_cache"] else CACHE,
            jobs=self.options["jobs"],
            finish=_finish,
        )

    def run(self) -> int:
        """The exit status."""
        if self.problem:
            return self._refuse(self.problem)
        wrong = self._wrong()
        if wrong:
            return self._refuse(wrong)
        if not self.options["watch"]:
            with unswept():  # reading looks after its own garbage
                return self.once()
        from ..check.files.watch_files import changes

        while True:
            self.once()
            changes(self.paths)

    def _wrong(self) -> str:
        """What is wrong with the call, in one line."""
        settings = self.settings()
        for word in (*settings.select, *settings.ignore):
            from ..causes import CAUSES, find

            known = [c.code for c in CAUSES.values()]
            if word.upper() != "ALL" and find(word) is None and not any(c.startswith(word.upper()) for c in known):
                return f"{word!r} is neither a code nor a cause (codes look like SP103, causes like carried-state)"
        if self.options["update_baseline"] and not self.baseline:
            return "--update-baseline needs --baseline FILE (or `baseline` under [tool.secondpass])"
        if "-" in self.paths and len(self.paths) > 1:
            return "- (standard input) stands alone: no other paths beside it"
        if "-" in self.paths and (self.options["fix"] or self.options["diff"] or self.options["watch"]):
            return "standard input cannot be fixed or watched: name a file"
        if self.options["stdin_filename"] and "-" not in self.paths:
            return "--stdin-filename goes with - (standard input)"
        missing = [p for p in self.paths if p != "-" and not Path(p).exists()]
        return f"{missing[0]}: no such file or folder" if missing else ""

    def _refuse(self, reason: str) -> int:
        print(f"secondpass check: {reason}", file=sys.stderr)
        return 2

    def once(self) -> int:
        """One reading."""
        if self.paths == ["-"]:
            name = self.options["stdin_filename"] or "stdin.py"
            report = read([name], replace(self.settings(), cache=None), {name: sys.stdin.read()})
        else:
            report = read(self.paths, self.settings())
        if self.options["evidence"]:
            from ..check.report.evidence import weigh

            try:
                report = weigh(report, Path(self.options["evidence"]))
            except ValueError as error:
                return self._refuse(f"{self.options['evidence']}: {error}")
        if self.options["update_baseline"] and self.baseline:
            from ..check.report.baseline import write

            write(Path(self.baseline), report)
            print(f"{len(report.findings)} findings listed in {self.baseline}", file=sys.stderr)
            report = Report((), report.schema, report.tool, report.program, report.passes, report.notes)
        elif self.baseline:
            from ..check.report.baseline import without

            try:
                report = without(Path(self.baseline), report)
            except ValueError as error:
                return self._refuse(f"{self.baseline}: {error}")
        if self.options["fix"] or self.options["diff"]:
            from ._check_fixes import fix

            report = fix(report, self.paths, self.settings(), unsafe=self.unsafe, write=not self.options["diff"])
        self._show(report)
        return 0 if self.options["exit_zero"] or not report.findings else 1

    def _show(self, report: Report) -> None:
        if self.options["json_file"]:
            Path(self.options["json_file"]).write_text(report.to_json() + "\n", "utf-8")
        if self.options["diff"]:
            return
        text = self._statistics(report) if self.options["statistics"] else self._text(report)
        if self.options["output_file"]:
            Path(self.options["output_file"]).write_text(text, "utf-8")
        elif text:
            print(text, end="" if text.endswith("\n") else "\n")
        if self.format in ("full", "concise") and not self.options["quiet"]:
            for note in report.notes:
                print(f"note: {note}", file=sys.stderr)
            count = len(report.findings)
            if not self.options["statistics"] and (count or self.format == "full"):
                print(_summary(report), file=sys.stderr)

    def _text(self, report: Report) -> str:
        from importlib import import_module

        if self.format == "full":
            from ..render import color_for
            from ..render.text import render

            bare = Report(report.findings, report.schema, report.tool, report.program, report.passes)
            return render(bare, color=color_for(sys.stdout), width=_width())
        text: str = import_module(f"..render.{self.format}", __package__).render(report)
        return text

    def _statistics(self, report: Report) -> str:
        counts: dict[tuple[str, str], int] = {}
        for finding in report.findings:
            counts[finding.code, finding.cause] = counts.get((finding.code, finding.cause), 0) + 1
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return "".join(f"{count}\t{code}\t{cause}\n" for (code, cause), count in rows)


def _finish(findings: list[Finding]) -> list[Finding]:
    if not findings:
        return findings
    from ._check_fixes import attach_all  # what works out edits takes long to load

    return attach_all(findings)


def _width() -> int:
    import shutil

    return max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))


def _summary(report: Report) -> str:
    """The last line: how many faults, how many of them `--fix` repairs, or that nothing was there to be read."""
    count = len(report.findings)
    if count:
        fixable = sum(any(r.safe and r.edits for r in f.remedies[:1]) for f in report.findings)
        return f"Found {count} fault{'s' * (count != 1)}" + (f", {fixable} fixable with --fix." if fixable else ".")
    if not report.program.get("read"):
        files = report.program.get("files", 0)
        return f"No training code in {files} file{'s' * (files != 1)}: nothing to check."
    return "All checks passed."
