# SPDX-License-Identifier: BSD-3-Clause
"""What a line does to history, as its source says it."""

from __future__ import annotations

import ast

import pytest

from secondpass.source import root_of


@pytest.mark.parametrize(
    ("line", "root"),
    [
        ("loss.backward()", "loss"),
        ("root.backward(*more, **options)", "root"),
        ("self.scaler.scale(loss).backward(*more)", "loss"),
        ("y.backward(torch.ones_like(y))", "y"),
        ("accelerator.backward(loss, *more)", "loss"),
        ("torch.autograd.backward(*given)", "*given"),
        ("autograd.backward(loss)", "loss"),
    ],
)
def test_a_pass_starts_from_its_root(line, root):
    found = root_of(ast.parse(line).body[0])
    assert found is not None
    assert ast.unparse(found) == root
