# SPDX-License-Identifier: BSD-3-Clause
"""How a cut is written, where the source tells what a name holds."""

from __future__ import annotations

import pytest

from secondpass.remedies.find.project import Project
from secondpass.remedies.rewrite.forms import detached, guess

KEPT = """
class Model:
    def __init__(self):
        self.memory = {first}

    def step(self, x):
        out, self.memory["state"] = self.rnn(x, self.memory["state"])
        return out
"""


@pytest.mark.parametrize("first", ['{"state": None}', '{"state": (zeros, zeros)}'])
def test_an_entry_that_begins_as_none_is_not_taken_apart(first):
    project = Project(sources={"main.py": KEPT.format(first=first)})
    project.source("main.py")
    form = guess(project, 'self.memory["state"][1]')[0]
    assert ("is not None" in "\n".join(detached("self.memory", form))) is ("None" in first)
