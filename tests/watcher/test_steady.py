# SPDX-License-Identifier: BSD-3-Clause
"""Short notes say what full notes would have said."""

from __future__ import annotations

import pytest
import torch

import secondpass
from secondpass.watcher import short_notes as steady
from secondpass.watcher.ledger import PassNote


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """On a slow machine too: whether steps are fast is not what is tested."""
    monkeypatch.setattr(steady, "_FAST", 1e9)


def two_networks(w: secondpass.watch, steps: int = 300, *, brief: bool) -> None:
    """A loop that makes its passes and steps in a helper, from two places; one of them keeps its graph."""
    w.watcher.brief = brief
    torch.manual_seed(0)
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    first, second = torch.optim.SGD(one.parameters(), lr=0.1), torch.optim.Adam(two.parameters())
    x = torch.ones(4, 2)

    def update(loss, optimizer, retain):
        optimizer.zero_grad()
        loss.backward(retain_graph=retain)
        optimizer.step()

    for _ in range(steps):
        update(one(x).square().mean(), first, True)
        loss = two(x).abs().sum()
        update(loss, second, False)
        torch.autograd.grad(one(x).sum(), list(one.parameters()))


def told(note, files, start):
    """All that a note says and that does not depend on looking; numbers of nodes count from the first pass."""
    common = note.when, files.places(note.key), note.iteration, note.position
    if isinstance(note, PassNote):
        return (
            *common,
            note.kind,
            tuple(r - start for r in note.roots),
            note.retain,
            note.create,
            note.nested,
            note.entry - start,
            note.outcome,
        )
    return (*common, note.mark - start, len(note.book.every), note.passes)  # names depend on when somebody looked


def test_the_same_notes():
    runs = []
    for brief in (True, False):
        with secondpass.watch(lines=False) as w:
            two_networks(w, brief=brief)
        runs.append(w.watcher)
    shorts = [n for n in runs[0].ledger._tail if type(n) is tuple]
    assert len(shorts) > 300 and not any(type(n) is tuple for n in runs[1].ledger._tail)
    short, full = ([told(n, w.files, w.ledger.pass_notes()[0].entry) for n in w.ledger.notes()] for w in runs)
    assert short == full
    assert (runs[0].ledger.passes, runs[0].ledger.steps) == (runs[1].ledger.passes, runs[1].ledger.steps) == (900, 600)
    assert [b.steps for b in runs[0].gradients.books()] == [b.steps for b in runs[1].gradients.books()]


def test_optimizers_without_end(monkeypatch):
    """Kinds of notes are few; when there are too many, the numbering begins anew."""
    monkeypatch.setattr(steady, "_KINDS", 5)

    def tasks(w: secondpass.watch, *, brief: bool) -> None:
        w.watcher.brief = brief
        model = torch.nn.Linear(2, 1)
        for _ in range(60):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(7):
                optimizer.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()

    runs = []
    for brief in (True, False):
        with secondpass.watch(lines=False) as w:
            tasks(w, brief=brief)
        runs.append(w.watcher)
    assert sum(type(n) is tuple for n in runs[0].ledger._tail) > 100
    short, full = ([told(n, w.files, w.ledger.pass_notes()[0].entry) for n in w.ledger.notes()] for w in runs)
    assert short == full


def carried(steps: int, detached: int) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = torch.zeros(1, 2)
    for i in range(steps):
        state = torch.tanh(model(state))
        loss = state.square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if i < detached:
            state = state.detach()


@pytest.mark.parametrize("brief", [True, False])
def test_a_failure_after_many_steps(brief):
    with pytest.raises(RuntimeError) as caught, secondpass.watch() as w:
        w.watcher.brief = brief
        carried(400, 350)
    assert brief == any(type(n) is tuple for n in w.watcher.ledger._tail)
    [finding] = w.findings
    assert finding.code == "SP103" and finding.carrier is not None and finding.carrier.name == "state"
    assert [p.line - carried.__code__.co_firstlineno for p in (finding.freed, finding.failed)] == [7, 7]
    assert "`state` carries" in "".join(caught.value.__notes__)


def test_other_ways_to_call():
    """Passes by `torch.autograd.backward` and steps under a schedule have their own frames in between."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)

    def passed(loss):
        torch.autograd.backward(loss)

    with secondpass.watch() as watch:
        for _ in range(300):
            passed((w * w).sum())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    tail = watch.watcher.ledger._tail
    assert sum(type(n) is tuple for n in tail) > 200
    notes, places = watch.watcher.ledger.notes(), watch.watcher.files.places
    first = test_other_ways_to_call.__code__.co_firstlineno
    lines = {tuple(p.line - first for p in places(n.key)[: 2 if type(n) is PassNote else 1]) for n in notes}
    assert lines == {(7, 11), (12,)}


def test_steps_behind_several_frames_of_a_library():
    """A scaler of gradients calls the optimizer from two functions of its own."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    with secondpass.watch() as watch:
        for _ in range(300):
            scaler.scale((w * w).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    shorts = [n for n in watch.watcher.ledger._tail if type(n) is tuple]
    assert sum(type(n[-1]) is bool for n in shorts) > 100
    assert sum(type(n[-1]) is not bool for n in shorts) > 100


def test_a_root_that_moves_is_noted_in_full():
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with secondpass.watch() as watch:
        for i in range(300):
            loss = (w * w).sum()
            others = [w * 2 for _ in range(i % 3)]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            del others
    assert not any(type(n) is tuple and type(n[-1]) is bool for n in watch.watcher.ledger._tail)
    notes = watch.watcher.ledger.pass_notes()[-3:]
    assert sorted(n.entry - n.roots[0] for n in notes) == [1, 2, 3]


def test_a_pass_inside_a_pass():
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def inner(grad):
        with torch.enable_grad():
            (w * 3).sum().backward()

    with secondpass.watch() as watch:
        for _ in range(300):
            loss = (w * w).sum()
            loss.register_hook(inner)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    notes = watch.watcher.ledger.pass_notes()
    assert len(notes) > 300 and [n.nested for n in notes[-4:]] == [False, True, False, True]


def test_the_end_of_a_watch_takes_all_hooks_away():
    from torch.optim import optimizer as o

    before = len(o._global_optimizer_pre_hooks), len(o._global_optimizer_post_hooks)
    for steps in (140, 150, 200, 300):
        with secondpass.watch() as w:
            two_networks(w, steps, brief=True)
        assert (len(o._global_optimizer_pre_hooks), len(o._global_optimizer_post_hooks)) == before


def test_hooks_of_others_are_called_every_time():
    """Also those that were registered after ours, and those of a watch within a watch."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    calls = []
    with secondpass.watch() as outer, secondpass.watch() as inner:
        handle = register_optimizer_step_post_hook(lambda *args: calls.append(1))
        try:
            for _ in range(300):
                (w * w).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        finally:
            handle.remove()
    assert len(calls) == outer.watcher.ledger.steps == inner.watcher.ledger.steps == 300
    assert any(type(n) is tuple for n in outer.watcher.ledger._tail)


@pytest.mark.parametrize("part", ["kind_of_pass", "kind_of_step"])
def test_a_fault_of_our_own(part, capsys, monkeypatch):
    def fault(*args):
        raise KeyError("oh")

    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with secondpass.watch():
        monkeypatch.setattr(steady.Steady, part, fault)
        for _ in range(300):
            (w * w).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert capsys.readouterr().err.count("secondpass: stopped watching after a fault of its own: KeyError: 'oh'") == 1


def test_a_gradient_that_is_zero_was_not_cleared():
    """At a minimum, under a dead unit: a pass leaves zeros, and the step uses them."""
    weight = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with secondpass.watch() as watch:
        for _ in range(40):
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.step()
    assert watch.findings == ()
