# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass see`: runs a program with the ledger of its saved tensors, and writes what happened as one page."""

from __future__ import annotations

import click

from ._output_file import OutputFile

__all__ = ["command"]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a program; show what is alive, who holds it, what it costs.",
)
@click.option(
    "--out", "page_file", type=OutputFile(), metavar="FILE", default="secondpass.html", show_default=True,
    help="Where the page goes; a name that ends in .json gets its data alone.",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(min=1), default=8, show_default=True, metavar="N",
    help="List the saved tensors before and after the first N passes of each line; later ones are sampled.",
)  # fmt: skip
@click.option(
    "--trace", "events_file", type=OutputFile(), metavar="FILE",
    help="Also write a Chrome trace (for Perfetto): iterations, passes, steps, graphs, and saved bytes over time.",
)  # fmt: skip
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module, as with python -m.")
@click.option("--full-traceback", is_flag=True, help="Show the frames of libraries too, not as one line.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing of our own.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    page_file: str,
    steps: int,
    events_file: str | None,
    as_module: bool,
    full_traceback: bool,
    quiet: bool,
    program: str,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with its ARGUMENTS, unchanged, as `run` does, and list what its graphs keep.

    The page is one file that needs no network: the findings with their source, a timeline of iterations, passes and
    graphs, the saved bytes over time by module, line or operation, the graph of the failing pass, and the ledger of
    saved tensors. The exit status is the program's own.

    \b
    secondpass see train.py --lr 3e-4
    secondpass see --steps 3 --out page.html train.py
    secondpass see --trace trace.json train.py       open it at ui.perfetto.dev
    """
    from ._program import Program

    raise SystemExit(
        Program(
            program,
            arguments,
            as_module=as_module,
            page_file=page_file,
            events_file=events_file,
            ledgers=steps,
            full_traceback=full_traceback,
            quiet=quiet,
        ).run()
    )
