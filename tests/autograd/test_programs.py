# SPDX-License-Identifier: BSD-3-Clause
"""Random programs on the specification and on PyTorch: a few hundred here, 10,000 by `make prove`."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from secondpass.autograd.graph import Node
from secondpass.autograd.recording import OpNode

from ..prove.lockstep import LEFT_OUT, compare
from ..prove.programs import Choice, programs


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_no_program_tells_the_specification_from_pytorch(program: list[Choice]) -> None:
    lines, difference = compare(program)
    assert difference in ("", LEFT_OUT), "\n".join([*lines, difference])


def different(count: int) -> bool:
    draw = random.Random(1)
    many = ([(draw.randrange(100), draw.randrange(2**32)) for _ in range(24)] for _ in range(count))
    return any(compare(program)[1] not in ("", LEFT_OUT) for program in many)


@pytest.mark.parametrize("fault", ["never spent", "always spent", "no version check"])
def test_the_comparison_notices(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "never spent":
        monkeypatch.setattr(OpNode, "release", lambda self, walk: None)
    elif fault == "always spent":
        release = Node.release

        def eager(self: Any, walk: Any) -> None:
            release(self, walk)
            self.freed_by = walk

        monkeypatch.setattr(OpNode, "release", eager)
        monkeypatch.setattr(OpNode, "apply", _strict(OpNode.apply))
    else:
        monkeypatch.setattr(OpNode, "unpack", _careless(OpNode.unpack))
    assert different(200)


def _strict(apply: Any) -> Any:
    def wrapped(self: Any, *args: Any) -> Any:
        if self.freed_by is not None:
            raise self.twice()
        return apply(self, *args)

    return wrapped


def _careless(unpack: Any) -> Any:
    def wrapped(self: Any, entry: Any, create: bool) -> Any:
        return unpack(self, (*entry[:4], entry[3][0] if entry[3] else 0, entry[5]), create)

    return wrapped
