# SPDX-License-Identifier: BSD-3-Clause
import gc
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))


REFUSED: list[str] = []
"""Tests that an older version could not run to their end (docs/versions.md): what they leave behind is not looked at."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except BaseException as error:
        refused = str(error.__context__ or error)  # `pytest.warns` says first that nobody has warned
        if "needs PyTorch 2.10" not in refused and "don't yet support saved tensor hooks" not in refused:
            raise
    REFUSED.append(item.name)
    pytest.skip(refused)


@pytest.fixture(autouse=True)
def nothing_is_left():
    """After every test no kept call is alive, and PyTorch is as it was."""
    from torch.optim import Optimizer  # noqa: F401  (its module is only reachable once imported)

    from secondpass.keeper import engine
    from secondpass.keeper.call import Call
    from secondpass.keeper.recompute.op import Value

    torch.set_num_threads(1)
    before = isinstance(torch.autograd._engine_run_backward, engine._Layer)  # a test that failed may hold a call
    gc.collect()  # a kept call that a test elsewhere has left would never go
    gc.freeze()  # what is there already is not looked at again: libraries are large
    yield
    if REFUSED:
        return
    gc.collect()
    assert not torch.overrides._get_current_function_mode_stack()
    left = [type(thing).__name__ for thing in gc.get_objects() if type(thing) in (Call, Value)]
    assert left == []
    if not before:
        assert not isinstance(torch.autograd._engine_run_backward, engine._Layer)
        assert engine._engine.hook is None


@pytest.fixture(autouse=True)
def small_models_count(monkeypatch):
    """Models are small here: what is done to large tensors shall be done to theirs, which their graphs outweigh."""
    from secondpass.keeper import call
    from secondpass.keeper.budget import planner
    from secondpass.keeper.saved import mask

    monkeypatch.setattr(mask, "LEAST", 8)
    monkeypatch.setattr(planner, "LEAST", 8)
    monkeypatch.setattr(call, "GRAPH", 0)
