# SPDX-License-Identifier: BSD-3-Clause
"""What Python and its standard library do with values: programs that carry history on, and the same with it cut off.

`{cut}` stands for nothing, and then for `.detach()`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from secondpass.check import Settings, read

HEAD = """\
import torch
from torch import nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn(9, 1, 3)
def train(loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

PROGRAMS = {
    "a deque that is full": """
from collections import deque
d = deque(maxlen=3)
for x in data:
    h = torch.tanh(net(x))
    if len(d) == d.maxlen:
        h = h + torch.stack(list(d)).mean(0)
    train(h.sum())
    d.append(h{cut})
""",
    "deque.extendleft": """
from collections import deque
d = deque([torch.zeros(1, 3)])
for x in data:
    h = torch.tanh(net(x) + d.popleft())
    train(h.sum())
    d.extendleft([h{cut}])
""",
    "deque.rotate": """
from collections import deque
d = deque([torch.zeros(1, 3), torch.zeros(1, 3)])
for x in data:
    h = torch.tanh(net(x) + d[0])
    train(h.sum())
    d[0] = h{cut}
    d.rotate(1)
""",
    "chainmap": """
from collections import ChainMap
base = {{"h": torch.zeros(1, 3)}}
state = ChainMap({{}}, base)
for x in data:
    h = torch.tanh(net(x) + state["h"])
    train(h.sum())
    state["h"] = h{cut}
""",
    "chainmap new_child": """
from collections import ChainMap
state = ChainMap({{"h": torch.zeros(1, 3)}})
for x in data:
    h = torch.tanh(net(x) + state["h"])
    train(h.sum())
    state = state.new_child({{"h": h{cut}}})
""",
    "combinations": """
import itertools
for epoch in range(4):
    feats = [net(x){cut} for x in data[:3]]
    for a, b in itertools.combinations(feats, 2):
        train((a * b).sum() + net(data[0]).sum())
""",
    "accumulate": """
import itertools
def step(h, x):
    h = torch.tanh(net(x) + h)
    train(h.sum())
    return h{cut}
*_, last = itertools.accumulate(data, step, initial=torch.zeros(1, 3))
""",
    "partialmethod": """
from functools import partialmethod
class S:
    h = torch.zeros(1, 3)
    def _step(self, kind, x):
        self.h = torch.tanh(net(x) + self.h)
        return self.h
    step = partialmethod(_step, "a")
s = S()
for x in data:
    train(s.step(x).sum())
    s.h = s.h{cut}
""",
    "singledispatch": """
from functools import singledispatch
@singledispatch
def advance(x, h):
    raise TypeError
@advance.register
def _(x: torch.Tensor, h):
    return torch.tanh(net(x) + h)
h = torch.zeros(1, 3)
for x in data:
    h = advance(x, h)
    train(h.sum())
    h = h{cut}
""",
    "contextvars": """
from contextvars import ContextVar
state = ContextVar("state", default=torch.zeros(1, 3))
for x in data:
    h = torch.tanh(net(x) + state.get())
    train(h.sum())
    state.set(h{cut})
""",
    "UserList": """
from collections import UserList
class Hist(UserList):
    def last(self):
        return self.data[-1]
hs = Hist([torch.zeros(1, 3)])
for x in data:
    h = torch.tanh(net(x) + hs.last())
    train(h.sum())
    hs.append(h{cut})
""",
    "UserList own data": """
from collections import UserList
class Hist(UserList):
    def push(self, h):
        self.data.append(h)
hs = Hist()
hs.push(torch.zeros(1, 3))
for x in data:
    h = torch.tanh(net(x) + hs[-1])
    train(h.sum())
    hs.push(h{cut})
""",
    "UserDict init": """
from collections import UserDict
class State(UserDict):
    pass
s = State(h=torch.zeros(1, 3))
for x in data:
    h = torch.tanh(net(x) + s["h"])
    train(h.sum())
    s.update(h=h{cut})
""",
    "tree_map": """
from torch.utils._pytree import tree_map
state = {{"h": torch.zeros(1, 3), "c": (torch.zeros(1, 3),)}}
for x in data:
    state = tree_map(lambda s: torch.tanh(net(x) + s), state)
    train(state["h"].sum())
    state = tree_map(lambda s: s{cut}, state)
""",
    "namedtuple _make": """
from collections import namedtuple
St = namedtuple("St", ["h", "c"])
s = St._make([torch.zeros(1, 3), torch.zeros(1, 3)])
for x in data:
    s = St._make(torch.tanh(net(x) + t) for t in s)
    train(s.h.sum() + s.c.sum())
    s = St._make(map(lambda t: t{cut}, s))
""",
    "match tuple": """
h = torch.zeros(1, 3)
for x in data:
    match ("step", x):
        case ("stop", _):
            break
        case ("step", value):
            h = torch.tanh(net(value) + h)
            train(h.sum())
            h = h{cut}
""",
    "match str or": """
h = torch.zeros(1, 3)
mode = "rnn"
for x in data:
    match mode:
        case "mlp" | "cnn":
            h = net(x)
        case "rnn" | "gru":
            h = torch.tanh(net(x) + h)
    train(h.sum())
    h = h{cut}
""",
    "match mapping": """
h = torch.zeros(1, 3)
for x in data:
    match {{"x": x, "kind": "a"}}:
        case {{"kind": "a", "x": value}}:
            h = torch.tanh(net(value) + h)
            train(h.sum())
            h = h{cut}
""",
    "match guard": """
h = torch.zeros(1, 3)
for i, x in enumerate(data):
    match i:
        case n if n > 100:
            break
        case _:
            h = torch.tanh(net(x) + h)
            train(h.sum())
            h = h{cut}
""",
    "property function": """
class S:
    def __init__(self):
        self._h = torch.zeros(1, 3)
    def _get(self):
        return self._h
    def _set(self, v):
        self._h = v{cut}
    h = property(_get, _set)
s = S()
for x in data:
    h = torch.tanh(net(x) + s.h)
    train(h.sum())
    s.h = h
""",
    "operator iadd setitem": """
import operator
box = {{"h": torch.zeros(1, 3)}}
for x in data:
    h = torch.tanh(net(x) + operator.itemgetter("h")(box))
    train(h.sum())
    operator.setitem(box, "h", h{cut})
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_history_is_followed_and_its_cut_is_seen(tmp_path: Path, name: str) -> None:
    main = tmp_path / "main.py"
    for cut, found in (("", True), (".detach()", False)):
        main.write_text(HEAD + PROGRAMS[name].format(cut=cut))
        assert bool(read([main], Settings(jobs=1)).findings) is found
