# SPDX-License-Identifier: BSD-3-Clause
"""A fault of our own is one line on stderr: the program's result and its exception stay what they are."""

from __future__ import annotations

import importlib
import traceback

import pytest
import torch

import secondpass

# Everything that runs inside the user's program: where the name is looked up, and whether it takes a failed pass.
PARTS = [
    ("watcher.watcher.Watcher.enter", False),
    ("watcher.watcher.Watcher._enter", False),
    ("watcher.watcher.Watcher.leave", False),
    ("watcher.looks.Looks.look", False),
    ("watcher.watcher.Watcher.step_begins", False),
    ("watcher.watcher.Watcher._step_ends", False),
    ("watcher.looks.Looks._met_before", False),
    ("torchgraph.leaves.Leaves.of", False),
    ("watcher.looks.snapshot", False),
    ("watcher.looks.walk", False),
    ("watcher.looks.edges", False),
    ("watcher.looks.walked", False),
    ("watcher.watcher.PassNote", False),
    ("watcher.watcher.StepNote", False),
    ("watcher.files.Files.key", False),
    ("watcher.files.Files.frames", False),
    ("watcher.ledger.Ledger.add", False),
    ("watcher.ledger.Ledger.site", False),
    ("watcher.ledger.Ledger.tick", False),
    ("watcher.gradients.Gradients.pass_begins", False),
    ("watcher.gradients.Gradients.pass_ends", False),
    ("watcher.gradients.Gradients.step_begins", False),
    ("watcher.gradients.Gradients.step_ends", False),
    ("watcher.gradients.Book", False),
    ("torchgraph.leaves.Leaves.number", False),
    ("watcher.bindings._Look.tensor", False),
    ("session.session.Session._went_on", False),
    ("watcher.watcher.Watcher.failed", True),
    ("watcher.failure.Failed", True),
    ("session.session.Session._explain", True),
    ("session.session.Graph", True),
    ("session.session.build", True),
    ("session.session.diagnose", True),
    ("watcher.failure.look", True),
    ("watcher.failure.walk_young", True),
    ("watcher.failure.order", True),
    ("watcher.failure.freed", True),
    ("watcher.trace._Builder", True),
    ("watcher.trace._Builder._nodes", True),
    ("watcher.files.Files.places", True),
]


class Fault(Exception):
    """A fault that only we can have made."""


def train(fail: bool) -> tuple[list[float], torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    state, losses = torch.zeros(1), []
    for _ in range(3):
        state = torch.tanh(model(torch.randn(5, 3)).mean() + state)
        optimizer.zero_grad()
        state.backward()
        optimizer.step()
        losses.append(state.item())
        if not fail:
            state = state.detach()
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()])


def plainly(fail: bool):
    try:
        return train(fail), None
    except RuntimeError as error:
        return None, error


def broken(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_(*args, **kwargs):
        raise Fault("on purpose\nand on two lines")

    package, module, *holders, last = path.split(".")
    owner = importlib.import_module(f"secondpass.{package}.{module}")
    for holder in holders:
        owner = getattr(owner, holder)
    monkeypatch.setattr(owner, last, raise_)


@pytest.mark.parametrize(("path", "fail"), PARTS, ids=[p for p, _ in PARTS])
def test_one_line_and_nothing_else(path, fail, monkeypatch, capsys):
    expected, error = plainly(fail)
    broken(path, monkeypatch)
    with secondpass.watch():
        result, raised = plainly(fail)
    if fail:
        assert type(raised) is type(error)
        assert str(raised) == str(error)
        assert raised.args == error.args
        assert raised.__cause__ is None
        assert raised.__context__ is None
        lines = [
            (f.name, f.line) for f in traceback.extract_tb(raised.__traceback__) if "patched_calls.py" not in f.filename
        ]
        assert lines == [(f.name, f.line) for f in traceback.extract_tb(error.__traceback__)]
    else:
        assert result[0] == expected[0]
        assert torch.equal(result[1], expected[1])
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("secondpass: ")
    assert "Fault: on purpose" in err


@pytest.mark.parametrize("path", ["session.with_edits", "session.note_of"])
def test_parts_that_only_embellish_may_fail_silently(path, monkeypatch, capsys):
    """Remedies and notes: without them the finding is still told."""
    _expected, error = plainly(True)
    module = {"session.with_edits": "secondpass.remedies", "session.note_of": "secondpass.render"}[path]
    name = {"session.with_edits": "attach", "session.note_of": "note"}[path]

    def raise_(*args, **kwargs):
        raise Fault("on purpose")

    monkeypatch.setattr(importlib.import_module(module), name, raise_)
    with secondpass.watch(quiet=True) as w:
        _, raised = plainly(True)
    assert str(raised) == str(error)
    assert len(w.findings) == 1
    assert capsys.readouterr().err == ""


def test_silent_end_that_fails(monkeypatch, capsys):
    broken("session.session.build", monkeypatch)
    with secondpass.watch() as w:
        train(False)
    assert w.findings == ()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_closed_stderr(monkeypatch):
    """Where even the line cannot be written, nothing happens."""
    import sys

    broken("watcher.looks.snapshot", monkeypatch)
    monkeypatch.setattr(sys, "stderr", None)
    expected, _ = plainly(False)
    with secondpass.watch():
        result, _ = plainly(False)
    assert result[0] == expected[0]


def test_interrupt_inside_us_is_the_users(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("secondpass.watcher.looks.snapshot", interrupt)
    with pytest.raises(KeyboardInterrupt), secondpass.watch():
        train(False)


@pytest.mark.parametrize("order", ["inner first", "outer first"])
def test_watches_end_in_any_order(order):
    outer, inner = secondpass.watch(), secondpass.watch()
    a, b = outer.__enter__(), inner.__enter__()
    first, second = (inner, outer) if order == "inner first" else (outer, inner)
    first.__exit__(None, None, None)
    train(False)
    second.__exit__(None, None, None)
    counts = {outer: a.report().passes["count"], inner: b.report().passes["count"]}
    assert counts[first] == 0
    assert counts[second] == 3


def test_install_twice_and_uninstall_twice():
    assert secondpass.install() is secondpass.install()
    secondpass.uninstall()
    secondpass.uninstall()


def test_edits_are_worked_out_when_somebody_reads(monkeypatch, capsys):
    """A program that catches the error goes on at once; one that ends with it is told of the edit."""
    import secondpass.remedies as remedies

    plain, asked = remedies.attach, []
    monkeypatch.setattr(remedies, "attach", lambda *args, **kwargs: asked.append(1) or plain(*args, **kwargs))
    with secondpass.watch(quiet=True) as w:
        _, error = plainly(True)
        assert "SP103" in "".join(error.__notes__)
        assert not asked
    assert w.findings[0].remedies[0].edits
    assert len(asked) == 1
    assert w.findings == w.findings
    assert len(asked) == 1
    with pytest.raises(RuntimeError) as caught, secondpass.watch():
        train(True)
    assert "+ state = state.detach()" in "".join(caught.value.__notes__).replace("       +", "+")


def test_hooks_of_others_around_ours(monkeypatch):
    """Somebody wraps our hook, and we come and go: no hook calls itself, and ours does nothing any more."""
    import sys

    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda *args: seen.append("first"))
    secondpass.install()
    ours = sys.excepthook
    theirs = lambda *args: (seen.append("theirs"), ours(*args))  # noqa: E731
    sys.excepthook = theirs
    secondpass.uninstall()
    assert sys.excepthook is theirs
    secondpass.install()
    sys.excepthook(ValueError, ValueError("x"), None)
    assert seen == ["theirs", "first"]
    secondpass.uninstall()
    assert sys.excepthook is theirs
