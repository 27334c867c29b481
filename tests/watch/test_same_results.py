# SPDX-License-Identifier: BSD-3-Clause
"""With and without watching: the same bits."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from .plain import both

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("SECONDPASS_CASES", ROOT.parent / "shared" / "cases"))

# Put behind a program's own text: whatever it ends with is printed, to the last bit. Only names that a program keeps are
# looked at, so it says the same in both runs.
DIGEST = """

def _print_digests():
    import hashlib, sys
    import torch
    found = {}
    def put(name, t):
        t = t.detach()
        found[name] = hashlib.sha256(t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest() if t.numel() else "empty"
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, torch.nn.Module):
            for inner, t in value.state_dict().items():
                put(f"{name}.{inner}", t)
            for inner, p in value.named_parameters():
                if p.grad is not None:
                    put(f"{name}.{inner}.grad", p.grad)
        elif isinstance(value, torch.Tensor):
            put(name, value)
    print(sorted(found.items()), hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest())

import atexit as _atexit
_atexit.register(_print_digests)
"""


def programs() -> list[Path]:
    found = sorted((ROOT / "examples").glob("*.py"))
    for folder in (CASES, ROOT / "tests" / "cases"):
        found += sorted(folder.glob("*/main.py")) + sorted(folder.glob("*/fixed_*.py"))
    return found


def with_digests(source: str) -> str:
    """The digest is registered first thing (after what must stand at the top), so that it is the last to run."""
    import ast

    body = ast.parse(source).body
    last = 0
    for stmt in body:
        if (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)) or (
            isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
        ):
            last = stmt.end_lineno or 0
        else:
            break
    lines = source.splitlines(keepends=True)
    return "".join([*lines[:last], DIGEST, *lines[last:]])


@pytest.mark.parametrize("path", programs(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_same_bits(path, tmp_path):
    for other in path.parent.iterdir():
        if other.is_file() and other.suffix != ".json":
            (tmp_path / other.name).write_bytes(other.read_bytes())
    (tmp_path / path.name).write_text(with_digests(path.read_text(encoding="utf-8")), encoding="utf-8")
    result = both(tmp_path, path.name)
    result.agree(err=False)
    assert re.search(r"\[.*\] [0-9a-f]{64}\n$", result.plain.out), "no digest was printed"
