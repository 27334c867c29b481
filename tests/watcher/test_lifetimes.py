# SPDX-License-Identifier: BSD-3-Clause
"""Nothing of the user's lives longer because we watch, and nothing of ours grows."""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
import weakref
from pathlib import Path

import pytest
import torch

import secondpass
from secondpass.watcher import ledger, log

OURS = str(Path(secondpass.__file__).parent / "*")


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.state: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.inner(x))


class Holder:
    """Anything that has a weak reference."""


@pytest.fixture(params=["watched", "plain"])
def watched(request):
    """Every test here holds for a plain run as well: else it would test PyTorch."""
    if request.param == "watched":
        with secondpass.watch() as w:
            yield w
    else:
        yield None


@pytest.fixture
def no_collector():
    """Everything must die by its reference count, at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_locals_die_with_del(watched, no_collector):
    model = Model()
    x = torch.randn(2, 3)
    y = model(x)
    holder = Holder()
    held = [y, holder]
    loss = y.sum()
    loss.backward()
    refs = [weakref.ref(t) for t in (x, y, loss, model, model.inner, model.inner.weight, holder)]
    del x, y, loss, held, holder
    assert [r() is None for r in refs[:3]] == [True] * 3
    assert refs[-1]() is None
    del model
    assert [r() is None for r in refs] == [True] * 7


def test_function_frames_end(watched, no_collector):
    def step():
        x = torch.randn(2, 3, requires_grad=True)
        y = (x * x).tanh()
        held = {"a": [y], "b": (y, x)}

        def closure():
            return held

        y.sum().backward()
        refs.extend(map(weakref.ref, (x, y, closure)))

    refs: list = []
    for _ in range(3):
        step()
    assert [r() for r in refs] == [None] * len(refs)


def test_nodes_end(watched, no_collector):
    """A node has no weak references; but what hangs on it in Python does."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.holder = Holder()
            refs.append(weakref.ref(ctx.holder))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    refs: list = []
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        y = Square.apply(x)
        y.sum().backward()
        del y
    assert [r() for r in refs] == [None] * 3


def test_generators_and_iterators_end(watched, no_collector):
    def batches():
        x = torch.randn(2, 3, requires_grad=True)
        refs.append(weakref.ref(x))
        yield x * 2
        yield x * 3

    refs: list = []
    for batch in batches():
        batch.sum().backward()
    del batch
    assert refs[0]() is None


def test_optimizers_end(watched, no_collector):
    refs = []
    for _ in range(3):
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 3)).sum().backward()
        optimizer.step()
        refs += [weakref.ref(optimizer), weakref.ref(model), weakref.ref(model.inner.weight.grad)]
        del optimizer, model
        gc.collect()  # an optimizer is in a cycle with its own methods
    assert [r() for r in refs] == [None] * 9


def test_gradients_end(watched, no_collector):
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(2, 3)).sum().backward()
        optimizer.step()
        ref = weakref.ref(model.inner.weight.grad)
        optimizer.zero_grad()
        assert ref() is None


def test_nothing_is_kept_after_a_failure(watched, no_collector):
    def fail():
        x = torch.randn(2, 3, requires_grad=True)
        holder = Holder()
        y = (x * x).tanh()
        loss = y.sum()
        refs.extend(map(weakref.ref, (x, y, loss, holder)))
        loss.backward()
        loss.backward()

    refs: list = []
    for _ in range(2):
        try:
            fail()
        except RuntimeError as error:
            assert any(r() is not None for r in refs)  # the traceback holds them, as ever
            refs.append(weakref.ref(error.__traceback__.tb_frame.f_globals["Holder"]))  # something that stays
            del error
    gone = [r() is None for r in refs]
    assert gone == [True, True, True, True, False] * 2


def test_classes_end(watched):
    refs = []
    for _ in range(3):
        kind = type("Passing", (), {})
        function = type("Twice", (torch.autograd.Function,), {
            "forward": staticmethod(lambda ctx, x: x * 2),
            "backward": staticmethod(lambda ctx, g: g * 2),
        })  # fmt: skip
        one = kind()
        one.x = function.apply(torch.randn(3, requires_grad=True))
        one.x.sum().backward()
        refs += [weakref.ref(kind), weakref.ref(function)]
        del kind, function, one
        gc.collect()
    assert [r() for r in refs] == [None] * 6


def test_locals_that_the_program_holds_stay_as_they_were(watched):
    """Up to Python 3.12 `locals()` is the very dict that reading a frame's locals fills."""

    def train(lr, steps):
        settings = locals()
        x = torch.randn(3, requires_grad=True)
        for _ in range(steps):
            (x * x).sum().backward()
        return json.dumps(settings)

    assert train(0.1, 3) == '{"lr": 0.1, "steps": 3}'


def test_names_in_other_dicts_stay(watched):
    names: dict = {"torch": torch, "x": torch.randn(3, requires_grad=True)}
    exec("y = (x * x).sum()\ny.backward()\ny2 = 1", {"__builtins__": __builtins__}, names)
    assert sorted(names) == ["torch", "x", "y", "y2"]

    class Body:
        x = torch.randn(3, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        z = 1

    assert Body.z == 1
    assert Body.x.grad is not None


def test_looking_calls_nobody(watched):
    """Lazy and treacherous objects: none of their code runs."""
    called = []

    class Spy:
        def __getattribute__(self, name):
            called.append(name)
            return object.__getattribute__(self, name)

        def __getattr__(self, name):
            called.append(name)
            raise AttributeError(name)

        def __bool__(self):
            called.append("bool")
            return True

        def __eq__(self, other):
            called.append("eq")
            return True

        __hash__ = None  # type: ignore[assignment]

        def __len__(self):
            called.append("len")
            return 1

        def __repr__(self):
            called.append("repr")
            return "spy"

    class SpyDict(dict):
        def items(self):
            called.append("items")
            return super().items()

        def __len__(self):
            called.append("len")
            return 3

        def __iter__(self):
            called.append("iter")
            return super().__iter__()

    class SpyList(list):
        def __getitem__(self, i):
            called.append("getitem")
            return super().__getitem__(i)

        def __len__(self):
            called.append("len")
            return super().__len__()

    class SpyModule(torch.nn.Module):
        def __init__(self):  # never initialised: `_parameters` and the rest are missing
            object.__setattr__(self, "x", 1)

        def __getattr__(self, name):
            called.append(name)
            raise AttributeError(name)

    class Key:
        def __hash__(self):
            return 1

        def __repr__(self):
            called.append("key")
            return "key"

    x = torch.randn(3, requires_grad=True)
    spies = [Spy(), SpyDict(a=x * 2, b=Spy()), SpyList([x * 3, Spy()]), SpyModule(), {Key(): x * 4, (Key(), 1): x}]
    spy = spies[0]
    called.clear()
    for _ in range(3):
        (x * x).sum().backward()
    assert called == []
    del spy


def test_forbidden_views_are_stepped_over(capsys):
    """Reading the history of a view can raise; that is the program's affair, not ours."""
    with secondpass.watch():
        x = torch.randn(4, requires_grad=True)
        base = x * 1
        a, b = base.unbind(0)[:2]
        with torch.no_grad():
            base.mul_(2)
        y = (x * x).sum()
        y.backward()
        del a, b
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["steps", "new leaves", "new models", "failures"])
def test_memory_is_flat(kind):
    """After a first stretch nothing of ours grows any more."""

    def step(model, optimizer):
        if kind == "new models":
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.ones(1, 3, requires_grad=kind == "new leaves")
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if kind == "failures":
            try:
                loss.backward()
            except RuntimeError:
                pass

    def ours():
        gc.collect()
        found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, OURS, all_frames=True)])
        return sum(s.size for s in found.statistics("filename"))

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 6_000 if kind == "steps" else 2_000
    sizes = []
    with secondpass.watch(lines=False) as w:  # the log of lines is bounded by itself, far above this
        tracemalloc.start(1)
        try:
            for n in range(total):
                step(model, optimizer)
                if n + 1 in (total // 2, total):
                    sizes.append(ours())
        finally:
            tracemalloc.stop()
    notes = w.watcher.ledger.notes()
    assert len(notes) <= ledger._HEAD + ledger._TAIL
    assert len(w.watcher.gradients.books()) <= 300
    allowed = 1_000_000 if kind == "new models" else 200_000
    assert sizes[1] - sizes[0] < allowed, sizes


def test_log_is_bounded(monkeypatch):
    monkeypatch.setattr(log, "_KEEP", 1000)
    from secondpass.watcher.loader import compile_marked

    written = log.Log()
    names = dict(written.names)
    code = compile_marked(
        "def f(x):\n    return x\n\nfor i in range(5000):\n    y = f(i)\nz = [f(i) for i in range(5000)]\n",
        "f.py",
        written,
    )
    exec(code, names)
    assert names["z"][-1] == 4999
    assert 1000 <= len(written.marks) <= 2100
    assert written.position() > 30_000
    assert sys.getsizeof(written.marks) < 50_000
