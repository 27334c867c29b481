# SPDX-License-Identifier: BSD-3-Clause
"""A plain container of layers becomes one that registers them, by the name that the file has for `torch.nn`."""

from __future__ import annotations

import pytest

from .test_odd import repaired


@pytest.mark.parametrize(
    ("head", "value", "became"),
    [
        ("from torch import nn", "[nn.Linear(2, 2) for _ in n]", "nn.ModuleList([nn.Linear(2, 2) for _ in n])"),
        ("import torch", "{'a': f()}", "torch.nn.ModuleDict({'a': f()})"),
        ("import torch.nn as tnn", "f(), g()", "tnn.ModuleList((f(), g()))"),
        ("from torch import nn as layers", "list(map(f, n))", "layers.ModuleList(list(map(f, n)))"),
        ("from torch import nn", "[nn.Parameter(x), y]", "nn.ParameterList([nn.Parameter(x), y])"),
    ],
)
def test_a_container_that_registers(head: str, value: str, became: str) -> None:
    text = f"{head}\nclass M(Base):\n    def __init__(self):\n        self.parts = {value}\n"
    new = repaired(text, "other", "unreached-parameter", "m.parts", {"unregistered": "parts"}, failed=4)
    assert new == text.replace(f"= {value}", f"= {became}")


def test_a_container_of_another_kind_is_left_to_its_author() -> None:
    text = "from torch import nn\nclass M(Base):\n    def __init__(self):\n        self.parts = make()\n"
    assert repaired(text, "other", "unreached-parameter", "m.parts", {"unregistered": "parts"}, failed=4) == text
