# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people publish about this error: each block behaves on the specification as it does on PyTorch."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import secondpass.autograd as spec

from .twin import array, is_tensor

ROOT = Path(os.environ.get("SECONDPASS_SEEDS") or Path(__file__).parents[3] / "shared" / "seeds")
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{i}")
    for path in sorted(ROOT.glob("*.txt"))
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]
BEGIN = "import torch\nx = torch.ones(2, requires_grad=True)\n"
TWICE = "y.sum().backward()\ny.sum().backward()"
OWN = [
    pytest.param(f"{BEGIN}y = x * x\n{TWICE}", id="freed"),
    pytest.param(f"{BEGIN}y = x + 1\n{TWICE}", id="nothing saved"),
    pytest.param(f"{BEGIN}x.add_(1)", id="leaf"),
]


def translated(source: str) -> str:
    """The same program over the specification: only its imports change."""
    source = re.sub(r"^([ \t]*(?:import|from) )torch\b", r"\1secondpass.autograd", source, flags=re.MULTILINE)
    return re.sub(r"^([ \t]*import secondpass\.autograd)[ \t]*$", r"\1 as torch", source, flags=re.MULTILINE)


def outcome(source: str, library: Any) -> tuple[str, int, dict[str, Any]]:
    """The class of the error and its line ("" and 0 where there is none), and what the names hold in the end."""
    library.manual_seed(1)
    scope: dict[str, Any] = {}
    failed, line = "", 0
    try:
        exec(compile(source, "<block>", "exec"), scope)
    except Exception as error:
        failed = type(error).__name__
        line = [f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == "<block>"][-1]
    return failed, line, {n: v for n, v in scope.items() if is_tensor(v)}


@pytest.mark.parametrize("source", [*OWN, *BLOCKS])
def test_block_behaves_as_on_pytorch(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = outcome(source, torch), outcome(translated(source), spec)
    assert ours[:2] == theirs[:2]
    assert set(ours[2]) == set(theirs[2])
    for name, value in theirs[2].items():
        np.testing.assert_allclose(array(ours[2][name]), array(value), rtol=1e-5, atol=1e-6, err_msg=name)
        if value.is_leaf and value.grad is not None:
            np.testing.assert_allclose(array(ours[2][name].grad), array(value.grad), rtol=1e-5, err_msg=f"{name}.grad")


@pytest.mark.skipif(not BLOCKS, reason="the published programs are not here")
def test_there_are_blocks_that_fail_and_blocks_that_do_not() -> None:
    failed = [outcome(p.values[0], torch)[0] for p in BLOCKS]  # type: ignore[arg-type]
    assert "RuntimeError" in failed
    assert "" in failed
