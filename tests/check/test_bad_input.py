# SPDX-License-Identifier: BSD-3-Clause
"""Files that are not what they seem: one line where a person must know, never a traceback, and the rest is read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from secondpass.check import Settings, read

GOOD = """\
import torch
w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
MARK = "# torch backward()\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECONDPASS_DEBUG", raising=False)
    Path("good.py").write_text(GOOD)


def report(**files: bytes | str):  # type: ignore[no-untyped-def]
    for name, text in files.items():
        Path(f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(["."], Settings(jobs=1))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (MARK + "def f(:\n    pass\n", 2),
        (MARK + "print 'torch', loss.backward()\n", 2),
        (MARK + "x = '''never closed\n", 2),
        (MARK.encode() + b"x = '\x00'\n", 1),
        (MARK + "(" * 3000 + ")" * 3000, None),
    ],
    ids=["syntax", "python2", "open-string", "null", "deep"],
)
def test_what_cannot_be_read_is_an_error(text: str | bytes, line: int | None) -> None:
    found = report(odd=text)
    assert sorted(f.code for f in found.findings) == ["SP000", "SP101"]
    [broken] = [f for f in found.findings if f.code == "SP000"]
    assert broken.severity == "error"
    assert broken.failed is not None
    assert (broken.failed.file, broken.failed.line) == ("odd.py", line or broken.failed.line)
    assert found.notes == ()


def test_what_is_too_large_is_one_line() -> None:
    found = report(odd=MARK + "x = " + "9" * 3_000_000)
    assert [f.code for f in found.findings] == ["SP101"]
    assert found.notes == ("odd.py: larger than 2 MB, not read",)


def test_a_file_that_is_named_is_read() -> None:
    Path("odd.py").write_text("def f(:\n")
    assert [f.code for f in read(["odd.py"], Settings(jobs=1)).findings] == ["SP000"]
    assert [f.code for f in read(["odd.py"], Settings(jobs=1, select=("SP4",))).findings] == ["SP000"]


def test_percent_signs_within_brackets_are_no_magics() -> None:
    cell = "%matplotlib inline\nx = (7\n% 4)\nmessage = '''\n% no magic\n'''\n!ls\n"
    Path("a.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": cell}, {"cell_type": "code", "source": GOOD}]})
    )
    assert [f.code for f in read(["a.ipynb"], Settings(jobs=1)).findings] == ["SP101"]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        ("# -*- coding: latin-1 -*-\nname = 'Jos\xe9'\n" + GOOD).encode("latin-1"),
        b"name = 'Jos\xe9'  # no coding line\n" + GOOD.encode(),
        ("# -*- coding: no-such-coding -*-\n" + GOOD).encode(),
    ],
    ids=["bom", "crlf", "cr", "latin-1", "undeclared", "unknown-coding"],
)
def test_encodings_and_line_ends(text: bytes) -> None:
    found = report(odd=text)
    assert sorted(f.failed.file for f in found.findings if f.failed) == ["good.py", "odd.py"]


def test_empty_input() -> None:
    found = report(empty="", blank="\n\n", comment="# backward( torch\n")
    assert [f.code for f in found.findings] == ["SP101"]
    Path("none").mkdir()
    assert read(["none"], Settings(jobs=1)).findings == ()


def test_links_in_circles_end() -> None:
    Path("sub").mkdir()
    os.symlink("..", "sub/up", target_is_directory=True)
    os.symlink("nowhere.py", "dangling.py")
    assert [f.code for f in report().findings] == ["SP101"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read() -> None:
    Path("shut.py").write_text(GOOD)
    Path("shut.py").chmod(0)
    assert [f.failed.file for f in report().findings if f.failed] == ["good.py"]


def test_recursion_and_endless_loops_end() -> None:
    found = report(
        odd="""\
import torch
def f(n): return f(n + 1) + g(n)
def g(n): return f(n - 1) + g(n)
def forever():
    while True:
        yield torch.zeros(1)
class A:
    def __getattr__(self, name): return getattr(self, name + "x")
f(0)
for x in forever():
    A().y
    while 1:
        x = x.backward() if f(x) else [x for _ in forever()]
"""
    )
    assert [f.failed.file for f in found.findings if f.failed] == ["good.py"]


def test_nothing_of_the_program_is_executed() -> None:
    found = report(odd=MARK + "import os\nos.mkdir('made')\nopen('made.txt', 'w').write('x')\nraise SystemExit(3)\n")
    assert [f.code for f in found.findings] == ["SP101"]
    assert not Path("made").exists()
    assert not Path("made.txt").exists()


def test_torch_is_not_needed() -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['torch'] = sys.modules['numpy'] = None\nfrom secondpass.check import read\n"
    code += "print([f.code for f in read(['good.py']).findings])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "['SP101']", done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "10 ** 10 ** 9", "1 << 10 ** 12", "'a' * 10 ** 12", "[0] * 10 ** 12", "math.factorial(10 ** 8)", "pow(3, 10 ** 9)",
        "math.comb(10 ** 8, 5 * 10 ** 7)", "max(range(10 ** 12))", "sum(range(10 ** 12))", "list(range(10 ** 12))",
        "'x'.ljust(10 ** 12)", "bytes(10 ** 12)", "f'{3:1000000000000d}'",
    ],
)  # fmt: skip
def test_numbers_that_nobody_could_compute(tmp_path: Path, text: str) -> None:
    file = tmp_path / "huge.py"
    tail = "loss = torch.nn.Linear(3, 1)(torch.ones(3)).exp()\nloss.backward()\nloss.backward()\n"
    file.write_text(f"import math\nimport torch\nx = {text}\n{tail}")
    assert [f.code for f in read([file], Settings(jobs=1)).findings] == ["SP101"]


def test_a_list_added_to_itself_ends(tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(
        "import torch\nnames = ['a']\nnames += names\nnames.extend(names)\n"
        "loss = torch.ones(3, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()\n"
    )
    assert [f.code for f in read([file], Settings(jobs=1)).findings] == ["SP101"]
