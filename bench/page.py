# SPDX-License-Identifier: BSD-3-Clause
"""How soon a page can be used: 20,000 nodes, 1,000 passes and 20,000 rows, opened in the system's Chromium.

    python bench/page.py

Seconds of the page's own thread (its processor time, so that other work on the machine does not count) until the first picture of
each view is there, and for one step of the keyboard in it; and the wall's time, which counts everything. The goal: one second.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.see import samples
from tests.see.browser import browsing, chromium

from secondpass.see import page as pages

ROUNDS = 5
KEYS = {"story": "Tab", "life": "ArrowLeft", "memory": "ArrowLeft", "graph": "Enter", "ledger": "End"}


def opened(browser: Any, address: str, view: str) -> tuple[float, float, float]:
    """(thread, wall) until the view is drawn, and thread for one key."""
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    inspector = tab.context.new_cdp_session(tab)
    inspector.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        drawn = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        tab.evaluate(drawn)
        figures = inspector.send("Performance.getMetrics")["metrics"]
        return float(next(figure["value"] for figure in figures if figure["name"] == "TaskDuration"))

    start = time.perf_counter()
    tab.goto(f"{address}#{view}", wait_until="commit")
    tab.wait_for_selector("#view > *")
    ready = spent()
    wall = time.perf_counter() - start
    if view != "story":
        tab.focus("#view canvas, #view .table")
    before = spent()
    tab.keyboard.press(KEYS[view])
    key = spent() - before
    tab.close()
    return ready, wall, key


def main() -> None:
    if chromium() is None:
        print("no Chromium is installed: apt-get install chromium")
        return
    with tempfile.TemporaryDirectory() as folder, browsing() as browser:
        data = samples.large()
        start = time.perf_counter()
        path = pages.write(data, Path(folder) / "large.html")
        print(f"written in {time.perf_counter() - start:.2f} s: {path.stat().st_size / 2**20:.1f} MiB")
        print(f"{'view':8} {'thread':>8} {'wall':>8} {'a key':>8}")
        for view in KEYS:
            rounds = [opened(browser, path.as_uri(), view) for _ in range(ROUNDS)]
            ready, wall, key = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(f"{view:8} {ready:6.2f} s {wall:6.2f} s {key * 1000:5.0f} ms")


if __name__ == "__main__":
    main()
