# SPDX-License-Identifier: BSD-3-Clause
"""The site builds without a warning, and fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from secondpass.causes import CAUSES

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(
    r'<(?:script|img|iframe)[^>]*\bsrc="(https?:[^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]+)"'
)


def test_the_site(tmp_path):
    pytest.importorskip("mkdocs")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {p.stem for p in (tmp_path / "causes").glob("*.html")} == {"index", *CAUSES}
    for page in tmp_path.rglob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page.name
    assert (tmp_path / "schema" / "secondpass-1.json").exists()
