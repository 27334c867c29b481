# SPDX-License-Identifier: BSD-3-Clause
"""Folders that are named in an import and are no packages: what lies in them is the program's own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from secondpass.check import Settings, read

NETS = """
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.made, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)

        def forward(self, x):
            return self.judge(self.made(x).relu()).pow(2).mean()
"""

MAIN = """
    import torch
    {imported}

    pair = {made}()
    rules = [torch.optim.SGD(n.parameters(), lr=0.1) for n in (pair.made, pair.judge)]
    for _ in range(9):
        said = pair(torch.randn(2, 3))
        rules[1].zero_grad()
        said.backward(retain_graph=True)
        rules[1].step()
        rules[0].zero_grad()
        {again}
        said.backward()
        rules[0].step()
"""


@pytest.mark.parametrize(
    ("main", "imported", "made"),
    [
        ("main.py", "from parts import nets", "nets.Pair"),
        ("main.py", "from parts import nets as n", "n.Pair"),
        ("main.py", "import parts.nets", "parts.nets.Pair"),
        ("main.py", "import parts.inner.deep", "parts.inner.deep.Pair"),
        ("main.py", "from parts.inner import deep", "deep.Pair"),
        ("main.py", "import whole.loose.nets", "whole.loose.nets.Pair"),
        ("whole/loose/main.py", "from whole.loose import nets", "nets.Pair"),
        ("whole/loose/main.py", "from . import nets", "nets.Pair"),
        ("parts/inner/main.py", "from .. import nets", "nets.Pair"),
        ("parts/inner/main.py", "from ..inner import deep", "deep.Pair"),
    ],
)
def test_a_module_of_a_folder_that_is_no_package(tmp_path: Path, main: str, imported: str, made: str) -> None:
    files = dict.fromkeys(("parts/nets.py", "parts/inner/deep.py", "whole/loose/nets.py"), NETS) | {
        "whole/__init__.py": ""
    }

    def codes(again: str) -> list[str]:
        for name, text in {**files, main: MAIN.format(imported=imported, made=made, again=again)}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(dedent(text), "utf-8")
        return [f.code for f in read([tmp_path], Settings(jobs=1)).findings]

    assert codes("pass") == ["SP201"]
    assert codes("said = pair(torch.randn(2, 3))") == ["SP402"]


def test_a_library_beside_a_folder_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "timm").mkdir()
    (tmp_path / "timm" / "nets.py").write_text(dedent(NETS), "utf-8")
    text = MAIN.format(imported="from timm import create_model", made="create_model", again="pass")
    (tmp_path / "main.py").write_text(dedent(text), "utf-8")
    assert [f.code for f in read([tmp_path], Settings(jobs=1)).findings] == []


PATH = """import os, sys
    HERE = os.path.dirname(os.path.abspath(__file__))
    TOP = os.path.dirname(HERE)
    {put}
    from nets import Pair
"""


@pytest.mark.parametrize(
    ("put", "codes"),
    [
        ("sys.path.append(os.path.join(TOP, 'parts'))", ["SP201"]),
        ("sys.path.insert(0, '../parts')", ["SP201"]),
        ("PARTS = os.path.join(TOP, 'parts'); sys.path.insert(0, PARTS)", ["SP201"]),
        ("sys.path.append(TOP)", []),  # `nets` is in none of these
        ("sys.path.append('/opt/parts')", []),
        ("print('parts')", []),
    ],
)
def test_a_folder_that_a_program_puts_on_its_path(tmp_path: Path, put: str, codes: list[str]) -> None:
    main = MAIN.format(imported=PATH.format(put=put), made="Pair", again="pass")
    for name, text in {"tools/run.py": main, "parts/nets.py": NETS}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(dedent(text), "utf-8")
    assert [f.code for f in read([tmp_path], Settings(jobs=1)).findings] == codes


def test_a_program_that_only_calls_what_lies_in_a_folder(tmp_path: Path) -> None:
    text = MAIN.replace("{imported}", "from .nets import Pair").replace("{made}", "Pair").replace("{again}", "pass")
    body = dedent(text).strip().splitlines()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "nets.py").write_text(dedent(NETS), "utf-8")
    (tmp_path / "parts" / "steps.py").write_text(
        "\n".join(["def go(rate):", *("    " + line for line in body)]), "utf-8"
    )
    (tmp_path / "main.py").write_text("from parts import steps\n\nsteps.go(0.1)\n", "utf-8")
    assert [f.code for f in read([tmp_path], Settings(jobs=1)).findings] == ["SP201"]
