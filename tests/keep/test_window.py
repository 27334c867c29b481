# SPDX-License-Identifier: BSD-3-Clause
"""Windows over time, and states without history."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

import secondpass
from secondpass import HistoryError

Pair = namedtuple("Pair", "h c")


@dataclass(frozen=True)
class State:
    h: torch.Tensor
    n: int
    rest: Any = field(default=None)


def test_states_of_any_shape():
    t = torch.ones(2, requires_grad=True) * 2
    free = torch.zeros(2)
    state = {
        "a": (t, [t, None, 3]), "b": Pair(t, free), "c": State(t, 4, {"x": deque([t], maxlen=2)}),
        "d": OrderedDict(k=t), "e": defaultdict(list, k=[t]), "f": "text",
    }  # fmt: skip
    cut = secondpass.detach(state)
    found = [cut["a"][0], cut["a"][1][0], cut["b"].h, cut["c"].h, cut["c"].rest["x"][0]]
    found += [cut["d"]["k"], cut["e"]["k"][0]]
    assert all(not value.requires_grad and value.data_ptr() == t.data_ptr() for value in found)
    assert all(value is found[0] for value in found)  # one tensor stays one tensor
    assert cut["b"].c is free and cut["c"].n == 4 and cut["f"] == "text" and cut["a"][1][1:] == [None, 3]
    assert type(cut["b"]) is Pair and type(cut["d"]) is OrderedDict and cut["c"].rest["x"].maxlen == 2
    assert cut["e"]["new"] == []
    assert t.requires_grad and state["a"][0] is t
    plain = {"x": [free, 1]}
    assert secondpass.detach(plain) is plain
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1, requires_grad=True), [3, 2])
    assert not secondpass.detach(packed).data.requires_grad


def test_windows_give_the_gradients_of_detaching_by_hand():
    torch.manual_seed(0)
    cell = nn.LSTM(3, 4)
    x = torch.randn(10, 2, 3)
    state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
    for start in range(0, 10, 4):
        out, state = cell(x[start : start + 4], tuple(s.detach() for s in state))
        out.sum().backward()
    expected = [p.grad.clone() for p in cell.parameters()]
    cell.zero_grad()
    for part in secondpass.bptt(x, (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)), window=4):
        out, part.state = cell(part.inputs, part.state)
        out.sum().backward()
    assert all(torch.equal(p.grad, e) for p, e in zip(cell.parameters(), expected, strict=True))
    assert torch.equal(part.state[0], state[0])


def test_sequences_of_all_kinds():
    x, y = torch.arange(7), torch.arange(14).reshape(7, 2)
    parts = list(secondpass.bptt((x, {"y": y}), window=3))
    assert [len(p.inputs[0]) for p in parts] == [3, 3, 1] and torch.equal(parts[1].inputs[1]["y"], y[3:6])
    assert [p.start for p in parts] == [0, 3, 6]
    assert [p.inputs for p in secondpass.bptt(iter("abcde"), window=2)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [tuple(p.inputs.shape) for p in secondpass.bptt(y, window=1, dim=1)] == [(7, 1), (7, 1)]
    with pytest.raises(ValueError, match="tensors of one length"):
        secondpass.bptt((x, y.T), window=3)
    with pytest.raises(ValueError, match="`window` should be"):
        secondpass.bptt(x, window=0)


def test_history_that_crosses_is_an_error():
    cell, x = nn.RNNCell(3, 4), torch.randn(4, 2, 3)
    carried = torch.zeros(2, 4)
    with pytest.raises(HistoryError, match="cross from window 1 into an earlier one"):
        for part in secondpass.bptt(x, window=2):
            for step in part.inputs:
                carried = cell(step, carried)  # beside `part.state`
            carried.sum().backward(retain_graph=True)


def test_a_total_over_windows_is_an_error():
    cell, x = nn.RNNCell(3, 4), torch.randn(4, 2, 3)
    total = 0.0
    with pytest.raises(HistoryError, match="sum losses within one window only"):
        for part in secondpass.bptt(x, torch.zeros(2, 4), window=2):
            for step in part.inputs:
                part.state = cell(step, part.state)
            total = total + part.state.sum()
            total.backward(retain_graph=True)


def test_modules_that_hold_their_state():
    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.RNNCell(3, 4)
            self.h = None

        def forward(self, x):
            self.h = self.cell(x, self.h)
            return self.h

    model, x = Memory(), torch.randn(6, 2, 3)
    for part in secondpass.bptt(x, window=2, module=model):
        sum(model(step).sum() for step in part.inputs).backward()
    model.h = None
    with pytest.raises(HistoryError):
        for part in secondpass.bptt(x, window=2):
            sum(model(step).sum() for step in part.inputs).backward(retain_graph=True)
    model.h = None


def test_leaving_the_loop_leaves_nothing():
    for _ in secondpass.bptt(torch.ones(4), window=1):
        break
