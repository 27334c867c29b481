# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people publish about this error: each gets the true verdict from `secondpass run`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    command = [sys.executable, "-m", "secondpass", "run", "--json", "report.json", "block.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    expected = VERDICTS[number]
    found = [(f["code"], f["failed"]["line"]) for f in json.loads((tmp_path / "report.json").read_text())["findings"]]
    assert found == ([expected] if expected else [])
    assert done.returncode == (1 if expected and expected[0] == "SP101" else 0)
    assert ("SP" in done.stderr) == bool(expected)
