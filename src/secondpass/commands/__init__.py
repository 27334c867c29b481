# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file per sub-command, found by its name and imported only when it is called."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click

from .. import __version__

__all__ = ["main"]


class _Commands(click.Group):
    """Finds `commands/<name>.py`, whose click command is called `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return found

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Click's own status is 1, which of `check` means findings.
            ctx.exit(130)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="secondpass")
def main() -> None:
    """Lifetime management for PyTorch's autograd graph.

    \b
    secondpass run train.py --lr 3e-4
    secondpass see train.py
    secondpass fix train.py --epochs 1
    secondpass check src/
    secondpass explain carried-state
    """
