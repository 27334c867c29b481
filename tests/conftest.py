# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Time says nothing about a test on a busy machine.
settings.register_profile("secondpass", deadline=None)
settings.load_profile("secondpass")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the whole messages anew instead of comparing")


def pytest_runtest_setup() -> None:
    """On a slow machine CI leaves out what it has no time for, and says so, rather than being stopped in the middle."""
    if time.time() > float(os.environ.get("TESTS_UNTIL", "inf")):
        pytest.skip("no time was left")


@pytest.fixture(scope="session", autouse=True)
def _folders_of_notebooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """IPython and Jupyter write into the home, which may be read-only, and read what its owner has put there."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setitem(os.environ, name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a whole message with the file of that name below tests/golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing: write it with `pytest --update-golden`, then read it"
        assert text == path.read_text(encoding="utf-8")

    return compare
