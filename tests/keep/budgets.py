# SPDX-License-Identifier: BSD-3-Clause
"""Budgets that can be met, for models of any size."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from torch import nn

import secondpass


def budgets(
    model: nn.Module,
    call: Callable[[Any], Any],
    shares: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
    **options: Any,
) -> list[int]:
    """From the least that can be met to all that is needed; `call` is given a kept model and calls it."""
    probe = secondpass.keep(copy.deepcopy(model), budget="100GB", **options)
    out = call(probe)
    most = probe.plan().peak
    del out
    with pytest.raises(secondpass.BudgetError) as caught:
        call(secondpass.keep(copy.deepcopy(model), budget=1, **options))
    least = caught.value.least
    assert f"({least} bytes)" in str(caught.value)
    return [int(least + share * max(0, most - least)) for share in shares]
