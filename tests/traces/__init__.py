# SPDX-License-Identifier: BSD-3-Clause
"""What was observed of the programs of tests/cases, stored: causes are tested on it without torch, in seconds.

`python -m tests.traces` records them again: after a change of what the watcher observes, and never to make a test pass.
"""

from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
TRACES = Path(__file__).parent / "stored"


def stored_at(case: str) -> Path:
    return TRACES / f"{case}.json.gz"
