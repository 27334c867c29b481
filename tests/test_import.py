# SPDX-License-Identifier: BSD-3-Clause
"""`import secondpass` loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["torch", "numpy", "libcst", "rich", "click"]


def loaded(code: str) -> set[str]:
    """Which heavy packages a fresh Python has loaded after some code."""
    report = f"import sys; {code}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy():
    assert loaded("import secondpass, secondpass.record; dir(secondpass); secondpass.__version__") == set()


def test_a_note_and_the_causes_load_nothing_heavy():
    assert loaded("import secondpass.causes, secondpass.render") == set()


@pytest.mark.parametrize("name", HEAVY)
def test_the_test_can_fail(name):
    assert name in loaded(f"import {name}, secondpass")


def test_an_unknown_name_is_an_attribute_error():
    import secondpass

    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        secondpass.no_such_name  # noqa: B018
