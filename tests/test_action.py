# SPDX-License-Identifier: BSD-3-Clause
"""The files that other programs read from the root of the project: they must be what those programs expect."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from secondpass.record import Finding, Place, Report
from secondpass.render import concise

ROOT = Path(__file__).parents[1]


def test_the_action_is_a_composite_action():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    used = {name for name in action["inputs"] if f"inputs.{name}" in str(steps)}
    assert used == set(action["inputs"])


def test_the_hooks_are_hooks():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert all({"id", "name", "entry", "language"} <= set(hook) for hook in hooks)


def test_the_settings_for_editors_and_ci_are_what_those_read():
    page = (ROOT / "docs" / "editors.md").read_text()
    for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        assert yaml.safe_load(text)
    settings, tasks = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    assert (settings["glspc.server.command"], settings["glspc.server.commandArguments"]) == ("secondpass", ["lsp"])
    pattern = tasks["tasks"][0]["problemMatcher"]["pattern"]
    place = Place("src/train.py", 21)
    line = concise.render(
        Report(findings=(Finding("SP103", "carried-state", "error", "`h` is carried.", failed=place),))
    )
    found = re.match(pattern["regexp"], line.splitlines()[0])
    assert found is not None
    assert [found[pattern[k]] for k in ("file", "line", "code", "message")] == [
        "src/train.py",
        "21",
        "SP103",
        "`h` is carried.",
    ]
