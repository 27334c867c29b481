# SPDX-License-Identifier: BSD-3-Clause
"""The guide page and the docstrings run."""

import doctest
import re
from pathlib import Path

import pytest

from secondpass.keeper import api as _kept
from secondpass.keeper.losses import bptt as _window
from secondpass.keeper.losses import grads as _many

PAGE = Path(__file__).parents[2] / "docs" / "keep.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not part of an installed package")
def test_the_page_runs():
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


@pytest.mark.parametrize("module", [_kept, _many, _window], ids=lambda m: m.__name__)
def test_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
