# SPDX-License-Identifier: BSD-3-Clause
"""Before and after every test: no name of Python's or PyTorch's is patched."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.optim import optimizer as optimizers  # noqa: E402


def names() -> dict[str, Any]:
    """Everything that watching touches, and what a careless tool would."""
    return {
        "torch.autograd._engine_run_backward": torch.autograd._engine_run_backward,
        "torch.Tensor.backward": torch.Tensor.backward,
        "torch.autograd.backward": torch.autograd.backward,
        "torch.autograd.grad": torch.autograd.grad,
        "optimizer pre hooks": list(optimizers._global_optimizer_pre_hooks),
        "optimizer post hooks": list(optimizers._global_optimizer_post_hooks),
        "Optimizer.zero_grad": torch.optim.Optimizer.zero_grad,
        "Module.__call__": torch.nn.Module.__call__,
        "anomaly": torch.is_anomaly_enabled(),
        "sys.meta_path": list(sys.meta_path),
        "sys.path_hooks": list(sys.path_hooks),
        "sys.excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "sys.gettrace": sys.gettrace(),
        "sys.getprofile": sys.getprofile(),
        # Marks stay, silent: a frame that has them may outlive the watch. See NOTE [ Code is exchanged, and nothing else ].
        "builtins": {k: v for k, v in vars(builtins).items() if k not in ("_sp_mark", "_sp_enter")},
        "__main__": sys.modules["__main__"],
    }


AT_FIRST = names()


def left_behind(before: dict[str, Any]) -> list[str]:
    """The names that are not what they were. PyTorch's are compared with those of its import."""
    before = {name: AT_FIRST[name] if "torch" in name or "ptimizer" in name else before[name] for name in before}
    now = names()
    ours = [str(f) for f in sys.meta_path if type(f).__module__.startswith("secondpass")]
    return ours + [name for name in now if not _same(now[name], before[name])]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() - {"_"} == b.keys() - {"_"} and all(a[k] is b[k] for k in a.keys() - {"_"})
    return a is b


@pytest.fixture(autouse=True)
def nothing_is_left_patched() -> Iterator[None]:
    before = names()
    assert left_behind(before) == []
    yield
    assert left_behind(before) == []
