# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass lsp`: the language server."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(short_help="Serve findings to an editor (language server).")
def command() -> None:
    """Speak the Language Server Protocol on standard input and output.

    Open Python files are checked as they change: findings are shown where they are, with the places they come from;
    fixes are offered as quick fixes; hovering over a finding shows the page of its cause. Needs the extra
    `secondpass[lsp]`.
    """
    try:
        from ._language_server import make_server
    except ImportError as error:
        raise click.ClickException(f"the language server needs `pip install secondpass[lsp]` ({error})") from None
    make_server().start_io()
