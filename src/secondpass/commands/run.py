# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass run`: runs an unchanged program and explains what goes wrong with its graph."""

from __future__ import annotations

import click

from ._output_file import OutputFile

__all__ = ["command"]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a program; explain what goes wrong with its graph.",
)
@click.option("--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the report as JSON.")
@click.option(
    "--trace", "trace_file", type=OutputFile(), metavar="FILE",
    help="Also write what was observed, before any judgement, as JSON: to be attached to a report of a wrong finding.",
)  # fmt: skip
@click.option(
    "--page", "page_file", type=OutputFile(), metavar="FILE",
    help="Also write one HTML page that shows what was seen; `secondpass see` adds what it costs in memory.",
)  # fmt: skip
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module, as with python -m.")
@click.option("--no-lines", is_flag=True, help="Do not mark statements: lines are then told from names and calls only.")
@click.option("--full-traceback", is_flag=True, help="Show the frames of libraries too, not as one line.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing of our own: the report goes to --json only.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    json_file: str | None,
    trace_file: str | None,
    page_file: str | None,
    as_module: bool,
    no_lines: bool,
    full_traceback: bool,
    quiet: bool,
    program: str,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with its ARGUMENTS, unchanged, and watch its passes.

    When a backward fails, the program's own exception comes out, with a note that says what was reused, which backward
    freed it, what carried it there and what to change. When the program ends well but something was silently wrong, a
    summary says so. When nothing is wrong, nothing is said. The exit status is the program's own.

    \b
    secondpass run train.py --lr 3e-4
    secondpass run --json report.json train.py
    secondpass run --page page.html train.py
    secondpass run -m mypackage.train --config small.yaml
    torchrun --nproc-per-node 2 -m secondpass run train.py
    """
    from ._program import Program

    raise SystemExit(
        Program(
            program,
            arguments,
            as_module=as_module,
            lines=not no_lines,
            json_file=json_file,
            trace_file=trace_file,
            page_file=page_file,
            full_traceback=full_traceback,
            quiet=quiet,
        ).run()
    )
