# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people publish about this error: each gets the true verdict from `secondpass run`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from ..running import forked

ROOT = Path(os.environ.get("SECONDPASS_SEEDS") or Path(__file__).parents[3] / "shared" / "seeds")
BLOCKS = [
    block
    for path in sorted(ROOT.glob("*.txt"))
    for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
]
# What each block does, whatever the article says of it: code and line, or nothing where all is well.
VERDICTS = [("SP101", 15), None, None, ("SP201", 24), ("SP402", 25), ("SP405", 31), None, ("SP402", 9), None]


@pytest.mark.skipif(not BLOCKS, reason="no seeds beside the repository")
@pytest.mark.parametrize("number", range(len(VERDICTS)))
def test_block(number: int, tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(BLOCKS[number])
    done = forked(tmp_path, "block.py", watched=True)
    expected = VERDICTS[number]
    assert [(f["code"], f["failed"]["line"]) for f in done.findings] == ([expected] if expected else [])
    assert done.status == (1 if expected and expected[0] == "SP101" else 0)
    assert ("SP" in done.err) == bool(expected)
