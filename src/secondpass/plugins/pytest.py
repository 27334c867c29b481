# SPDX-License-Identifier: BSD-3-Clause
"""`pytest --secondpass`: failing tests are explained, and what passing tests do wrong in silence is a warning.

A warning can be made an error as any other: `-W error::secondpass.plugins.pytest.SecondPassWarning`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator

import pytest

import secondpass

from ..record import Finding
from ..render import note

__all__ = ["SecondPassWarning", "pytest_addoption", "pytest_configure"]


class SecondPassWarning(UserWarning):
    """Something was silently wrong with the life of a graph."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option; without it nothing is imported, nothing watched."""
    help = "explain failures of PyTorch's autograd, and warn of silent ones"
    parser.getgroup("secondpass").addoption("--secondpass", action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the part that watches."""
    if config.getoption("--secondpass"):
        config.pluginmanager.register(_Watching(), "secondpass-watching")


class _Watching:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if "torch" not in sys.modules:  # nothing to watch, and no reason to load it
            return (yield)
        with secondpass.watch(quiet=True) as session:
            result = yield
        for finding in session.silent:
            _warn(finding, item)
        return result


def _warn(finding: Finding, item: pytest.Item) -> None:
    place = finding.failed
    file, line = (place.file, place.line) if place else (str(item.path), (item.location[1] or 0) + 1)
    warnings.warn_explicit(note(finding).strip(), SecondPassWarning, file, line)
