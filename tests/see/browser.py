# SPDX-License-Identifier: BSD-3-Clause
"""A real Chromium for the page's tests: everything that it asks for is refused and remembered."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing of the browser's own may go out either.
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
)


def chromium() -> str | None:
    """Where the system's Chromium is; `SECONDPASS_CHROMIUM` names another."""
    named = os.environ.get("SECONDPASS_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browsing() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS.split())
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One open page, with what it asked for and what it complained about."""

    def __init__(self, browser: Any, path: Path, view: str = "story", **settings: Any) -> None:
        settings = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light", **settings}
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.context = browser.new_context(offline=True, **settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.route("**/*", self._refuse)
        self.address = path.as_uri()
        self.page.goto(f"{self.address}#{view}")
        self.page.wait_for_selector("#view > *")

    def _refuse(self, route: Any) -> None:
        if route.request.url.split("#")[0] == self.address:
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def go(self, view: str) -> None:
        """To a view, as a reader goes: with its tab."""
        self.page.click(f"#tab-{view}")
        self.frame()

    def frame(self) -> None:
        """Waits until the next picture has been drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.frame()

    def text(self, selector: str = "#view") -> str:
        return str(self.page.inner_text(selector))

    def count(self, selector: str) -> int:
        return int(self.page.locator(selector).count())

    def colours(self) -> int:
        """How many colours the picture has: one that is blank has one."""
        return int(
            self.page.evaluate(
                """() => {
                    const canvas = document.querySelector('canvas')
                    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
                    return new Set(new Uint32Array(data.buffer)).size
                }"""
            )
        )

    def focused(self) -> str:
        return str(self.page.evaluate("() => (e => e.id || e.className || e.tagName)(document.activeElement)"))

    def close(self) -> None:
        self.context.close()
