# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass check`: finds the same faults by reading the code."""

from __future__ import annotations

import click

from ._output_file import OutputFile

__all__ = ["command"]

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif")


@click.command(short_help="Find the same faults by reading the code.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the report as JSON.")
@click.option("--output-format", type=click.Choice(FORMATS), help="How to print findings (default: full).")
@click.option("--output-file", "-o", type=OutputFile(), metavar="FILE", help="Print to a file instead.")
@click.option("--select", metavar="CODES", multiple=True, help="Codes, or beginnings of codes, to look for: SP1,SP403.")
@click.option("--ignore", metavar="CODES", multiple=True, help="Codes, or beginnings of codes, to leave out.")
@click.option("--exclude", metavar="PATTERNS", multiple=True, help="Files and folders to leave out, as in .gitignore.")
@click.option("--fix", is_flag=True, help="Apply the safe fixes.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="Apply, or show, fixes that may change what the program computes as well."
)
@click.option("--diff", is_flag=True, help="Show what --fix would change; change nothing.")
@click.option("--statistics", is_flag=True, help="Print counts per cause instead of findings.")
@click.option("--exit-zero", is_flag=True, help="Exit with status 0 even when there are findings.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes.")
@click.option(
    "--with",
    "evidence",
    type=click.Path(exists=True, dir_okay=False),
    metavar="RUN.JSON",
    help="Confirm or withdraw findings by what a run saw.",
)
@click.option(
    "--baseline", type=click.Path(dir_okay=False), metavar="FILE", help="Leave out the findings listed there."
)
@click.option("--update-baseline", is_flag=True, help="List the findings of now in the baseline file.")
@click.option("--no-cache", is_flag=True, help="Read everything anew.")
@click.option("--no-respect-gitignore", is_flag=True, help="Read files that .gitignore leaves out, too.")
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N", help="Number of processes (default: one per core).")
@click.option(
    "--stdin-filename", type=click.Path(dir_okay=False), metavar="FILE", help="The name of what - reads: for editors."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but findings.")
def command(paths: tuple[str, ...], **options: object) -> None:
    """Read training code and report the faults that `run` would explain, without running it.

    PATHS are files, notebooks and folders (default: the current folder), or - for standard input. A file that is named is
    read with what it imports, and a fault is told in whichever file it lies. Nothing is imported or executed, and torch
    need not be installed. A finding is reported only when every way through the code that comes past it has it. Exit
    status: 0 nothing found, 1 findings, 2 a wrong call.

    \b
    secondpass check src/
    secondpass check --fix train.py
    secondpass check --output-format sarif -o secondpass.sarif .

    A comment `# noqa: SP103` silences a line, `# secondpass: noqa` a file. Settings can stand in pyproject.toml under
    [tool.secondpass]: select, ignore, exclude, baseline, output-format, unsafe-fixes, respect-gitignore.
    """
    from ._check import Check

    raise SystemExit(Check(paths, options).run())
