# SPDX-License-Identifier: BSD-3-Clause
"""The files that other programs read from the root of the project: they must be what those programs expect."""

from __future__ import annotations

from pathlib import Path

import yaml

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
