# SPDX-License-Identifier: BSD-3-Clause
import gc
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def nothing_is_left():
    """After every test no kept call is alive, and PyTorch is as it was."""
    from torch.optim import Optimizer  # noqa: F401  (its module is only reachable once imported)

    from secondpass.keep import _engine
    from secondpass.keep._run import Run

    torch.set_num_threads(1)
    frames, runs = len(list(_engine._engine.frames)), count(Run)
    yield
    gc.collect()
    assert len(list(_engine._engine.frames)) <= frames
    assert count(Run) <= runs
    if not frames:
        assert not isinstance(torch.autograd._engine_run_backward, _engine._Layer)
        assert _engine._engine.hook is None


@pytest.fixture(autouse=True)
def small_models_count(monkeypatch):
    """Models are small here: what is done to large buffers shall be done to theirs, which their graphs outweigh."""
    from secondpass.keep import _frame, _noise

    monkeypatch.setattr(_noise, "_LEAST", 8)
    monkeypatch.setattr(_frame, "_GRAPH", 0)


def count(kind):
    return sum(type(thing) is kind for thing in gc.get_objects())
