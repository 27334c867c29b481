# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger lists, and what it leaves alone."""

from __future__ import annotations

import gc
import json
import threading
import weakref

import pytest
import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

import secondpass


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Tanh(), nn.BatchNorm1d(16), nn.Linear(16, 4))


def kinds(ledger, kind):
    return sorted((r.op, r.slot) for r in ledger if r.kind == kind)


def test_kinds_are_told_apart(net):
    x = torch.randn(32, 8)
    loss = net(x).square().mean()
    ledger = secondpass.ledger(loss)
    assert kinds(ledger, "input") == [("AddmmBackward0", "_saved_mat1")]
    assert {slot for _, slot in kinds(ledger, "buffer")} == {"_saved_running_mean", "_saved_running_var"}
    assert kinds(ledger, "parameter") == [
        ("AddmmBackward0", "_saved_mat2"),
        ("NativeBatchNormBackward0", "_saved_weight"),
    ]
    # The mask of the dropout has no history, yet nobody but the graph holds it.
    assert ("MulBackward0", "_saved_other") in kinds(ledger, "saved")


def test_an_input_that_only_the_graph_holds_is_saved(net):
    loss = net(torch.randn(32, 8)).square().mean()
    assert kinds(secondpass.ledger(loss), "input") == []
    loss = net(torch.randn(256).view(32, 8)).square().mean()
    assert kinds(secondpass.ledger(loss), "input") == []
    x = torch.randn(256)
    loss = net(x.view(32, 8)).square().mean()
    assert kinds(secondpass.ledger(loss), "input") == [("AddmmBackward0", "_saved_mat1")]


def test_every_storage_once():
    w = torch.ones(100, requires_grad=True)
    h = w * 2
    loss = (h.tanh() * h.tanh().expand(3, 100) * h[:10].sum()).sum()
    ledger = secondpass.ledger(loss)
    rows = [r for r in ledger if r.kind == "saved"]
    assert sum(r.bytes for r in rows) == ledger.total
    assert any(r.shared for r in rows)
    # Two results of tanh, their product, and four single numbers; not one of the three rows that `expand` shows.
    assert ledger.total <= 4 * (100 + 100 + 300 + 4)


def test_frozen_parameters_are_parameters():
    frozen, head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 4)
    loss = frozen(head(torch.ones(2, 4))).sum()
    assert [r.slot for r in secondpass.ledger(loss) if r.kind == "parameter"] == ["_saved_mat2"]


def test_a_freed_graph_says_so(net):
    loss = net(torch.randn(32, 8)).square().mean()
    before = secondpass.ledger(loss)
    assert before.total and not [r for r in before if r.state == "freed"]
    loss.backward()
    after = secondpass.ledger(loss)
    assert after.total == 0
    assert {r.state for r in after} == {"freed"}
    assert "were freed" in str(after)
    assert "freed" in repr(after)


def test_nothing_is_run_and_nothing_is_kept():
    calls = []

    def pack(t):
        return ("packed", t.detach().clone())

    def unpack(p):
        calls.append(p)
        return p[1]

    w = torch.ones(50, requires_grad=True)
    with saved_tensors_hooks(pack, unpack):
        loss = (w * 2).exp().sum()
    held = weakref.ref(loss)
    ledger = secondpass.ledger(loss)
    secondpass.ledger()
    assert calls == []
    assert [(r.op, r.region, r.bytes) for r in ledger if r.region] == [
        ("ExpBackward0", "hooks", 200),
    ]
    del loss
    gc.collect()
    assert held() is None


def test_regions(net):
    x = torch.randn(32, 8, requires_grad=True)
    loss = checkpoint(net, x, use_reentrant=False).sum()
    ledger = secondpass.ledger(loss)
    assert {r.region for r in ledger} == {"checkpoint"}
    assert any(not r.bytes for r in ledger)
    assert "computed again" in str(ledger)
    assert [(r.kind, r.bytes) for r in ledger if r.slot == "argument 0"] == [("input", 32 * 8 * 4)]
    assert [r.kind for r in ledger if r.slot == "random state"] == ["saved"]

    loss = checkpoint(net, x, use_reentrant=True).sum()
    assert {r.region for r in secondpass.ledger(loss)} == {"checkpoint"}

    with save_on_cpu():
        loss = net(x).sum()
    assert {r.region for r in secondpass.ledger(loss) if r.kind == "saved"} == {"offload"}


def test_kept_regions():
    blocks = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)))
    net = secondpass.keep(blocks, budget="80%")
    out = net(torch.randn(512, 64))
    ledger = secondpass.ledger(out.sum())
    assert "keep" in {r.region for r in ledger}


def test_custom_functions_and_what_hangs_on_their_context():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 1)
            ctx.extra = x * 3
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    loss = Twice.apply(torch.ones(10, requires_grad=True) * 2).sum()
    slots = {r.slot: r.bytes for r in secondpass.ledger(loss) if r.op == "TwiceBackward"}
    assert slots == {"_saved_tensors[0]": 40, "ctx.extra": 40}


def test_holders():
    w = torch.ones(1000, requires_grad=True)
    log = []
    for _ in range(40):
        log.append((w * 2).exp().sum())
    extra = (w * 3).exp()
    ledger = secondpass.ledger()
    by = ledger.by("holder")
    # What is collected in one place has one holder.
    assert by["log"].bytes == 40 * (4000 + 8)
    # Long containers are not looked into one by one: the middle goes by the container's name.
    rows = [r.holder for r in ledger.rows]
    assert {"log[0]", "log[39]", "log[...]"} <= set(rows)
    assert rows.count("log[...]") == 28 * 2
    assert by["extra"].bytes == 4000 + 8
    del extra


def test_a_module_is_told_by_its_parameters(net):
    loss = net(torch.randn(32, 8)).square().mean()
    assert {"net.0", "net.3", "net.4"} <= {r.module for r in secondpass.ledger(loss)}


def test_grouping_sorting_and_json(net):
    loss = net(torch.randn(32, 8)).square().mean()
    ledger = secondpass.ledger(loss)
    for key in ("line", "module", "op", "iteration", "holder"):
        assert sum(g.bytes for g in ledger.by(key)) == ledger.total
    sizes = [r.bytes for r in ledger.sort()]
    assert sizes == sorted(sizes, reverse=True)
    assert [r.op for r in ledger.sort("op")] == sorted(r.op for r in ledger)
    data = json.loads(ledger.to_json())
    assert data["schema"] == "secondpass-ledger/1" and data["total"] == ledger.total
    assert len(data["rows"]) == len(ledger)
    assert json.loads(ledger.by("op").to_json())["key"] == "op"
    assert len(repr(ledger)) < 100 and "\n" not in repr(ledger)
    assert "AddmmBackward0" in str(ledger) and "AddmmBackward0" in ledger._repr_html_()
    with pytest.raises(ValueError, match="cannot group or sort by 'colour'"):
        ledger.by("colour")
    with pytest.raises(ValueError, match="no column"):
        ledger.where(colour=1)


def test_hostile_names_stay_text():
    from secondpass.see.ledger_rows import Ledger, Row

    row = Row(4, "saved", "float32", (1,), "cpu", "<script>alert(1)</script>", "x", holder="[red]'\"<b>")
    html = Ledger((row,))._repr_html_()
    assert "<script" not in html and "<b>" not in html
    assert "[red]" in str(Ledger((row,)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (torch.zeros(3), "has no history"),
        (torch.zeros(3, requires_grad=True), "is a leaf"),
    ],
)
def test_no_history(given, text):
    ledger = secondpass.ledger(given)
    assert not ledger.rows
    assert text in " ".join(ledger.notes)


def test_bad_input():
    with pytest.raises(TypeError, match=r"a ledger is read behind tensors.*\(got str\)"):
        secondpass.ledger("loss")
    with pytest.raises(ValueError, match="no tensor"):
        secondpass.ledger([])


def test_several_tensors_and_edges():
    w = torch.ones(10, requires_grad=True)
    a, b = (w * 2).exp(), (w * 3).exp()
    whole = secondpass.ledger({"a": a, "rest": [b]}).total
    assert whole == secondpass.ledger(a).total + secondpass.ledger(b).total
    assert secondpass.ledger(torch.autograd.graph.GradientEdge(a.grad_fn, 0)).total == secondpass.ledger(a).total


def test_meta_and_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with torch.device("meta"):
        loss = nn.Linear(1000, 1000)(torch.empty(64, 1000)).exp().sum()
    assert secondpass.ledger(loss).where(device="meta", op="ExpBackward0").total == 64 * 1000 * 4
    with FakeTensorMode():
        loss = nn.Linear(1000, 1000)(torch.empty(64, 1000)).exp().sum()
        assert secondpass.ledger(loss).where(op="ExpBackward0").total == 64 * 1000 * 4


def test_sparse_tensors():
    table = nn.Embedding(100, 4, sparse=True)
    loss = (torch.sparse.mm(torch.eye(3).to_sparse(), table(torch.tensor([1, 2, 3]))) ** 2).sum()
    assert secondpass.ledger(loss).total > 0


def test_a_graph_of_another_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append((torch.ones(100, requires_grad=True) * 2).exp().sum()))
    thread.start()
    thread.join()
    assert secondpass.ledger(made[0]).total >= 400


def test_what_is_read_last_is_not_an_input():
    """Its only holder is the graph, not whoever has just looked at it."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    loss = torch.compile(net, backend="aot_eager")(torch.randn(6, 4)).sum()
    assert [(r.kind, r.shape) for r in secondpass.ledger(loss) if r.region == "compiled" and r.kind == "saved"] == [
        ("saved", (6, 4)),
        ("saved", (6, 8)),
    ]


def test_notes_are_not_as_narrow_as_the_table():
    net, x = nn.Linear(4, 8), torch.randn(6, 4)
    shown = str(secondpass.ledger(net(x).tanh().sum()))
    assert "not counted: 1 input that lives elsewhere (96 B)" in shown.splitlines()


def test_compiled_regions():
    f = torch.compile(lambda x: (x.sin() * x.exp()).sum(), backend="aot_eager")
    loss = f(torch.randn(100, requires_grad=True) * 1)
    ledger = secondpass.ledger(loss)
    assert "compiled" in {r.region for r in ledger}
    assert ledger.total >= 400


def test_at_most_so_many_nodes():
    h = torch.zeros(1, requires_grad=True)
    for _ in range(20_500):
        h = h.exp()
    ledger = secondpass.ledger(h)
    assert ledger.nodes == 20_000 and not ledger.complete
    assert "more than 20,000 nodes" in str(ledger)


def test_watched_passes_give_iterations_and_what_freed():
    w = torch.ones(10, requires_grad=True)
    losses = []
    with secondpass.watch(quiet=True):
        for _ in range(3):
            losses.append((w * 2).exp().sum())
            losses[-1].backward()
        rows = secondpass.ledger(losses).rows
        new = secondpass.ledger((w * 2).exp()).rows
    assert {r.iteration for r in rows} == {(1,), (2,), (3,)}
    assert {r.freed_by for r in rows} == {1, 2, 3}
    assert {r.iteration for r in new} == {None}, "no pass tells which iteration this belongs to"
