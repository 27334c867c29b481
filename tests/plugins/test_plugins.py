# SPDX-License-Identifier: BSD-3-Clause
"""The plugins, inside the real tools. Each program runs in a Python of its own, as its user would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

MODEL = """
    import torch
    from torch.nn import Linear, RNNCell
    from torch.nn.functional import mse_loss

    def setup(self):
        self.cell, self.head = RNNCell(3, 4), Linear(4, 1)
        self.hidden = torch.zeros(5, 4)

    def loss(self, x, y):
        hidden = self.cell(x, self.hidden)
        if CARRY:
            self.hidden = hidden
        return mse_loss(self.head(hidden).squeeze(1), y)
"""

LIGHTNING = """
    import lightning
    from torch.utils.data import DataLoader, TensorDataset
    from secondpass.plugins.lightning import SecondPass

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            setup(self)
        def training_step(self, batch, index):
            return loss(self, *batch)
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = DataLoader(TensorDataset(torch.randn(20, 3), torch.randn(20)), batch_size=5)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[SecondPass()],
    )
    model = Model()
    trainer.fit(model, data)
"""

TRANSFORMERS = """
    from transformers import Trainer, TrainingArguments
    from secondpass.plugins.transformers import SecondPass

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            setup(self)
        def forward(self, x, labels):
            return {"loss": loss(self, x, labels)}

    data = [{"x": torch.randn(3), "labels": torch.randn(())} for _ in range(20)]
    arguments = TrainingArguments(
        "out", per_device_train_batch_size=5, num_train_epochs=1, report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=True,
    )
    model = Model()
    trainer = Trainer(model, arguments, train_dataset=data, callbacks=[SecondPass()])
    trainer.train()
"""

# `torch.autograd._engine_run_backward` must be the function that it was.
RESTORED = """
    print("restored", torch.autograd._engine_run_backward.__module__)
"""


def run(folder: Path, *parts: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text("\n".join(dedent(part).strip() for part in parts) + "\n")
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, *(arguments or (str(program),))]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow  # as whole programs: tests/plugins/test_hosts.py
@pytest.mark.parametrize(("library", "training"), [("lightning", LIGHTNING), ("transformers", TRANSFORMERS)])
def test_trainers(library, training, tmp_path):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    failing = run(tmp_path, "CARRY = True", MODEL, training)
    assert failing.returncode == 1
    assert failing.stderr.count("SP103 carried-state: `model.hidden`") == 1, failing.stderr[-3000:]

    sound = run(tmp_path, "CARRY = False", MODEL, training, RESTORED)
    assert sound.returncode == 0, sound.stderr[-3000:]
    assert "SP" not in sound.stderr.replace("SecondPass", "")
    assert "restored torch.autograd.graph" in sound.stdout


IPYTHON = """
    import sys
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    for cell in CELLS:
        print("cell", flush=True)
        shell.run_cell(cell)
    import torch
"""

CELLS = [
    "import torch",
    "w = torch.ones(3, requires_grad=True)\nloss = (w.exp() ** 2).sum()\nloss.backward()",
    "loss.backward()",
]


def test_ipython_explains_cells(tmp_path):
    pytest.importorskip("IPython")
    cells = ["%load_ext secondpass.plugins.ipython", *CELLS, "%unload_ext secondpass.plugins.ipython"]
    done = run(tmp_path, f"CELLS = {cells!r}", IPYTHON, RESTORED)
    assert done.returncode == 0, done.stderr
    assert "SP101 repeated-backward" in done.stdout, done.stdout
    assert "loss.backward()" in done.stdout
    assert "restored torch.autograd.graph" in done.stdout


def test_ipython_explains_what_came_before_it_was_loaded(tmp_path):
    pytest.importorskip("IPython")
    done = run(tmp_path, f"CELLS = {[*CELLS, '%load_ext secondpass.plugins.ipython', '%secondpass']!r}", IPYTHON)
    assert "repeated-backward" in done.stdout.rpartition("cell")[2] + done.stderr, done.stdout + done.stderr


PYTEST = """
    import torch

    def test_fails():
        w = torch.ones(3, requires_grad=True)
        loss = (w.exp() ** 2).sum()
        loss.backward()
        loss.backward()

    def test_is_silent():
        import pytest

        loss = (torch.ones(3, requires_grad=True).exp() ** 2).sum()
        loss.backward()
        with pytest.raises(RuntimeError):
            loss.backward()

    def test_piles_up():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for step in range(8):
            loss = (w**2).sum()
            loss.backward()
            optimizer.step()
"""


NESTED = """
    import secondpass
    import torch

    w = torch.ones(3, requires_grad=True)
    with secondpass.watch(), secondpass.watch():
        loss = (w.exp() ** 2).sum()
        loss.backward()
        loss.backward()
"""


def test_watches_within_watches_explain_once(tmp_path):
    done = run(tmp_path, NESTED, arguments=("-m", "secondpass", "run", "program.py"))
    assert done.stderr.count("SP101 repeated-backward") == 1, done.stderr


MARKED = """
    import pytest
    import torch

    def piles_up(times):
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for step in range(times):
            loss = (w**2).sum()
            loss.backward()
            optimizer.step()
        assert times

    @pytest.mark.secondpass(strict=True)
    def test_strict():
        piles_up(8)

    @pytest.mark.secondpass
    def test_listed():
        piles_up(8)

    @pytest.mark.secondpass(watch=False, strict=True)
    def test_not_watched():
        piles_up(8)

    def test_plain():
        piles_up(8)
"""

PYTEST_QUIET = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
LISTED = "secondpass: silently wrong in tests that passed"


@pytest.mark.slow
def test_pytest_explains_and_lists(tmp_path):
    # Warnings are errors here, and none of ours is one.
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    done = run(tmp_path, PYTEST, arguments=(*PYTEST_QUIET, "program.py", "--secondpass"))
    assert done.returncode == 1
    # In CI pytest shows a message whole in its summary too.
    assert done.stdout.count("SP101 repeated-backward") == 1 + ("CI" in os.environ), done.stdout
    listed = done.stdout.partition(LISTED)[2]
    assert "program.py::test_piles_up" in listed and "SP403 missing-zero-grad" in listed, done.stdout
    assert "1 failed, 2 passed" in done.stdout

    unasked = run(tmp_path, PYTEST, arguments=(*PYTEST_QUIET, "program.py"))
    assert "1 failed, 2 passed" in unasked.stdout
    # By what we would say, not by our name: the path of the checkout may hold it.
    assert not re.search(r"\bSP\d{3}\b", unasked.stdout), unasked.stdout


@pytest.mark.slow
def test_pytest_marks(tmp_path):
    done = run(tmp_path, MARKED, arguments=(*PYTEST_QUIET, "--strict-markers", "program.py", "-n", "1"))
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    assert "FAILED program.py::test_strict" in done.stdout
    listed = done.stdout.partition(LISTED)[2]
    assert listed.count("program.py::test_") == 1 + listed.count("FAILED"), done.stdout
    assert "program.py::test_listed" in listed


@pytest.mark.slow
def test_pytest_ini_and_run(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\nsecondpass_strict = true\n")
    strict = run(tmp_path, PYTEST, arguments=(*PYTEST_QUIET, "program.py"))
    assert "2 failed, 1 passed" in strict.stdout, strict.stdout

    # The run watches all; the tests stay as green as they were, and what failed was shown by pytest, not swallowed.
    whole = run(tmp_path, PYTEST, arguments=("-m", "secondpass", "run", *PYTEST_QUIET, "program.py"))
    assert "1 failed, 2 passed" in whole.stdout, whole.stdout + whole.stderr
    assert "SP101 repeated-backward" in whole.stdout
    # Nor was what a test asked for, which hides nothing else.
    assert "swallowed-error" not in whole.stderr and "SP403 missing-zero-grad" in whole.stderr


def test_pytest_plugin_loads_no_torch(tmp_path):
    program = "import sys\n\ndef test_light():\n    assert 'torch' not in sys.modules"
    done = run(tmp_path, program, arguments=("-m", "pytest", "-q", "--secondpass", "program.py"))
    assert "1 passed" in done.stdout, done.stdout
