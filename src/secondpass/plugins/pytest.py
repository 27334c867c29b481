# SPDX-License-Identifier: BSD-3-Clause
"""`pytest --secondpass`: failing tests are explained, and what passing tests do wrong in silence is listed at the end.

    pytest --secondpass             or `secondpass = true` in the ini file
    pytest --secondpass-strict      or `secondpass_strict = true`: a silent finding fails its test
    @pytest.mark.secondpass         watches one test; `strict=True` and `watch=False` say more

A finding is no warning: `filterwarnings = error` is a promise about the project's own code, and turns no test red here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

__all__ = ["pytest_addoption", "pytest_configure"]

_NAME = "secondpass"
_MARK = "secondpass(strict=False, watch=True): watch the passes of this test; strict: a silent finding fails it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options; without them nothing is imported, nothing watched."""
    group = parser.getgroup(_NAME)
    group.addoption(
        "--secondpass",
        action="store_true",
        help="explain failures of PyTorch's autograd, and list what is silently wrong",
    )
    group.addoption(
        "--secondpass-strict",
        action="store_true",
        help="as --secondpass, and fail a test in which something is silently wrong",
    )
    parser.addini("secondpass", "watch every test, as --secondpass does", type="bool", default=False)
    parser.addini("secondpass_strict", "as --secondpass-strict", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the part that watches."""
    config.addinivalue_line("markers", _MARK)
    strict = bool(config.getoption("--secondpass-strict") or config.getini("secondpass_strict"))
    every = strict or bool(config.getoption("--secondpass") or config.getini("secondpass"))
    config.pluginmanager.register(_Watching(every, strict), "secondpass-watching")


class _Watching:
    """Watches each test by itself."""

    def __init__(self, every: bool, strict: bool) -> None:
        self.every, self.strict = every, strict
        self.listed: list[tuple[str, str]] = []
        self._end: Callable[[], None] | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What is to be watched has been imported: it is marked once, for all tests."""
        marked = self.every or any(item.get_closest_marker(_NAME) for item in session.items)
        if marked and "torch" in sys.modules:
            from ..session import hold_marks

            self._end = hold_marks()

    def pytest_sessionfinish(self) -> None:
        if self._end is not None:
            self._end()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if (running := _running()) is not None:  # `secondpass run -m pytest`
            try:
                result = yield
            except BaseException as error:
                running.shown(error)
                raise
            running.expected()
            return result
        watch, strict = self._asked(item)
        if not watch or "torch" not in sys.modules:  # nothing to watch, and no reason to load it
            return (yield)
        import secondpass

        with secondpass.watch(quiet=True) as session:
            session.hurry()
            result = yield
        texts = [_text(finding) for finding in session.silent]
        if texts and strict:
            pytest.fail("\n\n".join(texts), pytrace=False)
        item.user_properties += [(_NAME, text) for text in texts]
        return result

    def _asked(self, item: pytest.Item) -> tuple[bool, bool]:
        mark = item.get_closest_marker(_NAME)
        if mark is None:
            return self.every, self.strict
        wrong = [*mark.args, *(k for k in mark.kwargs if k not in ("strict", "watch"))]
        if wrong:
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.secondpass takes strict= and watch= only (got {wrong[0]!r})"
            )
        return bool(mark.kwargs.get("watch", True)), bool(mark.kwargs.get("strict", self.strict))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hears of every test, also of those that ran in other processes."""
        if report.when == "call":
            self.listed += [(report.nodeid, str(text)) for name, text in report.user_properties if name == _NAME]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.listed:
            terminalreporter.section("secondpass: silently wrong in tests that passed")
            for test, text in self.listed:
                terminalreporter.line(f"{test}\n\n{text}\n")


def _running() -> Any:
    """The watch over the whole program, if there is one."""
    module = sys.modules.get("secondpass.session")
    return module.installed() if module is not None else None


def _text(finding: Any) -> str:
    from ..render import note

    return str(note(finding)).strip()
