# SPDX-License-Identifier: BSD-3-Clause
"""What operators that cut a history have in common."""

from __future__ import annotations

import ast

from ..host import Host
from ..program import Edit, line


def passes_marked(host: Host, statement: ast.AST) -> list[Edit]:
    """Marks on every pass outside of a statement: one of them is where it fails, and the run says which."""
    start, end = host.span(statement)
    marks = [host.mark(host.statement(c), line("failed")) for c in host.backwards()]
    unique = {(m.file, m.start): m for m in marks}
    return [m for m in unique.values() if m.file != host.file(statement) or not start <= m.start < end]
