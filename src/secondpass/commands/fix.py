# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass fix`: the remedy as a patch, proven by running the repaired program."""

from __future__ import annotations

from pathlib import Path

import click

from ..watcher.rank import world
from ._find_program import program_file
from ._output_file import OutputFile

__all__ = ["command"]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Repair a program; prove the repair by running it.",
)
@click.option("--write", is_flag=True, help="Apply the proven patch.")
@click.option("--undo", is_flag=True, help="Take the last --write back.")
@click.option("--diff", "diff_only", is_flag=True, help="Print nothing but the patch.")
@click.option("--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the report as JSON.")
@click.option(
    "--unsafe", is_flag=True, help="Accept a patch whose proof could not be run (never one that was refuted)."
)
@click.option("--interactive", is_flag=True, help="Choose among the remedies.")
@click.option("--until", type=click.IntRange(1), metavar="N", help="Stop every run after N passes.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=600.0, show_default=True, metavar="S", help="Seconds for one run."
)
@click.option(
    "--runs", type=click.IntRange(2), default=16, show_default=True, metavar="N", help="Runs in all, at most."
)
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module, as with python -m.")
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    write: bool,
    undo: bool,
    diff_only: bool,
    json_file: str | None,
    unsafe: bool,
    interactive: bool,
    until: int | None,
    timeout: float,
    runs: int,
    as_module: bool,
    program: str | None,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with its ARGUMENTS, find what is wrong with its graph, repair it, and prove the repair.

    Every remedy is tried in a copy of the program's folder, in a process of its own. What is refuted is dropped; what is
    proven is shown with its proof. Nothing is changed without --write. Ctrl-C shows what was found until then.

    \b
    secondpass fix train.py --epochs 1
    secondpass fix --write train.py --epochs 1
    secondpass fix --undo
    """
    from ._fix_screen import Screen, undo_last

    if undo:
        raise SystemExit(undo_last(Path.cwd()))
    if program is None:
        raise click.UsageError("which program? (secondpass fix train.py)")
    if (world() or 1) > 1:
        raise click.UsageError(
            "one process tries the remedies, and starts the ranks for each of them:\n"
            f"secondpass fix -m torch.distributed.run --nproc-per-node {world()} {program}"
        )
    from ..remedies.prove.rounds import Options, repair
    from ..remedies.prove.run import Command

    if not as_module:
        program_file(program)
    screen = Screen(diff_only)
    options = Options(until or 0, timeout, unsafe, screen.choose if interactive else None, screen.progress, runs)
    what = Command(program, arguments, as_module, Path.cwd())
    screen.begin(what, options)
    course = repair(what, options)
    screen.clear()
    raise SystemExit(screen.show(course, what, write=write, json_file=json_file))
