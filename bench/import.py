# SPDX-License-Identifier: BSD-3-Clause
"""What `import secondpass` costs over a bare Python: processes started in turn, medians."""

from __future__ import annotations

import statistics
import subprocess
import sys
from time import perf_counter

ROUNDS = 40


def start(code: str) -> float:
    """Milliseconds from start to end of a Python that runs `code`."""
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (perf_counter() - begin) * 1e3


def main() -> None:
    """Prints the medians and their difference."""
    codes = {"bare": "pass", "import secondpass": "import secondpass"}
    times: dict[str, list[float]] = {name: [] for name in codes}
    for code in codes.values():
        start(code)  # the first start reads the disk and writes the .pyc files
    for _ in range(ROUNDS):
        for name, code in codes.items():
            times[name].append(start(code))
    bare, ours = (statistics.median(times[name]) for name in codes)
    print(f"bare Python {bare:.1f} ms, import secondpass {ours:.1f} ms: {ours - bare:+.1f} ms (x{ours / bare:.2f})")


if __name__ == "__main__":
    main()
