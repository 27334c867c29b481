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
    "module __dict__ _modules getattr": """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({{"cell": nn.Linear(3, 3)}})
    def __getattr__(self, name):
        parts = self.__dict__["_modules"].get("parts")
        if parts is not None and name in parts:
            return parts[name]
        return super().__getattr__(name)
m = M()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
h = torch.zeros(1, 3)
for x in data:
    h = torch.tanh(m.cell(x) + h)
    train(h.sum())
    h = h{cut}
""",
    "module getattr wrapped": """
class W(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)
class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.h = torch.zeros(1, 3)
    def step(self, x):
        self.h = torch.tanh(self.fc(x) + self.h)
        return self.h
w = W(C())
opt = torch.optim.SGD(w.parameters(), lr=0.1)
for x in data:
    train(w.step(x).sum())
    w.inner.h = w.inner.h{cut}
""",
    "descriptor": """
class Slot:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, cls=None):
        return getattr(obj, self.name)
    def __set__(self, obj, value):
        setattr(obj, self.name, value{cut})
class S:
    h = Slot()
    def __init__(self):
        self.h = torch.zeros(1, 3)
s = S()
for x in data:
    h = torch.tanh(net(x) + s.h)
    train(h.sum())
    s.h = h
""",
    "__getitem__ object": """
class S:
    def __init__(self):
        self._d = {{"h": torch.zeros(1, 3)}}
    def __getitem__(self, k):
        return self._d[k]
    def __setitem__(self, k, v):
        self._d[k] = v
    def __contains__(self, k):
        return k in self._d
s = S()
for x in data:
    s["h"] = torch.tanh(net(x) + (s["h"] if "h" in s else 0))
    train(s["h"].sum())
    s["h"] = s["h"]{cut}
""",
    "operator overload": """
class S:
    def __init__(self, h):
        self.h = h
    def __add__(self, other):
        return S(torch.tanh(self.h + other))
    def __neg__(self):
        return S(self.h{cut})
    def __invert__(self):
        return S(self.h{cut})
s = S(torch.zeros(1, 3))
for x in data:
    s = s + net(x)
    train(s.h.sum())
    s = -s
""",
    "matmul overload": """
class S:
    def __init__(self, h):
        self.h = h
    def __matmul__(self, other):
        return S(torch.tanh(other(self.h)))
    def __len__(self):
        return 1
    def __bool__(self):
        return True
    def __eq__(self, o):
        return True
    def __abs__(self):
        return S(self.h{cut})
s = S(torch.zeros(1, 3))
for x in data:
    s = s @ net if s else s
    train((s.h + x).sum())
    s = abs(s)
""",
    "async gather": """
import asyncio
async def step(x, h):
    return torch.tanh(net(x) + h)
async def main():
    hs = [torch.zeros(1, 3), torch.zeros(1, 3)]
    for x in data:
        hs = await asyncio.gather(*(step(x, h) for h in hs))
        train(sum(h.sum() for h in hs))
        hs = [h{cut} for h in hs]
asyncio.run(main())
""",
    "thread pool map": """
from concurrent.futures import ThreadPoolExecutor
h = torch.zeros(1, 3)
with ThreadPoolExecutor(2) as pool:
    for x in data:
        outs = list(pool.map(lambda w: torch.tanh(net(x) + h), range(2)))
        h = sum(outs)
        train(h.sum())
        h = h{cut}
""",
    "thread pool submit": """
from concurrent.futures import ThreadPoolExecutor
h = torch.zeros(1, 3)
pool = ThreadPoolExecutor(2)
for x in data:
    f = pool.submit(lambda a: torch.tanh(net(a) + h), x)
    h = f.result()
    train(h.sum())
    h = h{cut}
""",
    "weakref": """
import weakref
class S:
    pass
s = S()
s.h = torch.zeros(1, 3)
ref = weakref.ref(s)
for x in data:
    ref().h = torch.tanh(net(x) + ref().h)
    train(s.h.sum())
    s.h = s.h{cut}
""",
    "tensordict like": """
class TD(dict):
    def __getattr__(self, k):
        return self[k]
    def __setattr__(self, k, v):
        self[k] = v
    def apply(self, f):
        return TD({{k: f(v) for k, v in self.items()}})
s = TD(h=torch.zeros(1, 3))
for x in data:
    s.h = torch.tanh(net(x) + s.h)
    train(s.h.sum())
    s = s.apply(lambda t: t{cut})
""",
    "kl to old policy": """
from torch.distributions import Categorical, kl_divergence
old = None
for x in data:
    pi = Categorical(logits=net(x))
    loss = pi.entropy().sum()
    if old is not None:
        loss = loss + kl_divergence(old, pi).sum()
    train(loss)
    old = Categorical(logits=pi.logits{cut})
""",
    "module state in submodule": """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.state = {{}}
    def forward(self, x, name="a"):
        prev = self.state.get(name)
        out = self.fc(x) if prev is None else torch.tanh(self.fc(x) + prev)
        self.state[name] = out{cut}
        return out
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([Cell(), Cell()])
    def forward(self, x):
        for c in self.cells:
            x = c(x)
        return x
n = Net()
opt = torch.optim.SGD(n.parameters(), lr=0.1)
for x in data:
    train(n(x).sum())
""",
    "__init_subclass__": """
class Task:
    kinds = {{}}
    def __init_subclass__(cls, key, **more):
        super().__init_subclass__(**more)
        Task.kinds[key] = cls
class Rnn(Task, key="rnn"):
    def step(self, x, h):
        return torch.tanh(net(x) + h)
task, h = Task.kinds["rnn"](), torch.zeros(1, 3)
for x in data:
    h = task.step(x, h)
    train(h.sum())
    h = h{cut}
""",
    "what a tensor is not in": """
kept = {{}}
for step, x in enumerate(data):
    ids = torch.randint(0, 9, (2,))
    skip = set(ids.tolist())
    others = [v for i, v in kept.items() if i not in skip]
    z = net(x)
    train(z.sum() + sum(o.sum() for o in others))
    for i in ids.tolist():
        kept[i] = z{cut}
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_history_is_followed_and_its_cut_is_seen(tmp_path: Path, name: str) -> None:
    main = tmp_path / "main.py"
    for cut, found in (("", True), (".detach()", False)):
        main.write_text(HEAD + PROGRAMS[name].format(cut=cut))
        assert bool(read([main], Settings(jobs=1)).findings) is found
