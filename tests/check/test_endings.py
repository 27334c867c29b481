# SPDX-License-Identifier: BSD-3-Clause
"""How blocks end, as far as their syntax tells."""

from __future__ import annotations

import ast

from secondpass.check.files.block_ends import cornered

_CODE = """
def layer(kind):
    if kind == "plain":
        return 1
    if kind == "wide":
        return 2
    raise ValueError(kind)

def block(kind):
    if kind == "down":
        return 1
    elif kind == "up":
        return 2
    message = f"no {kind}"
    raise ValueError(message)

def other(kind):
    if kind:
        return 1
    return 2
"""


def test_the_last_condition_before_an_error_must_hold() -> None:
    assert [node.lineno for node in cornered(ast.parse(_CODE).body)] == [5, 12]
