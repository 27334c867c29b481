# SPDX-License-Identifier: BSD-3-Clause
"""What the interpreter understands: small programs, each about one thing of the language or of a library."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""


def codes(tmp_path: Path, body: str, head: str = HEAD, **files: str) -> list[str]:
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    main = tmp_path / "main.py"
    main.write_text(head + textwrap.dedent(body))
    return [f.code for f in read([main], Settings(jobs=1)).findings]


CARRY = """
    h = torch.zeros(1, 3)
    for x in torch.randn(9, 1, 3):
        {step}
        loss = h.pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        {after}
"""


@pytest.mark.parametrize(
    ("step", "after", "found"),
    [
        ("h = torch.tanh(net(x) + h)", "pass", ["SP103"]),
        ("h = torch.tanh(net(x) + h)", "h = h.detach()", []),
        ("h = torch.tanh(net(x) + h)", "h.detach_()", []),
        ("h = torch.tanh(net(x) + h)", "h = h.data", []),
        ("h = torch.tanh(net(x) + h.clone())", "pass", ["SP103"]),
        ("h = torch.tanh(net(x) + h.detach().clone())", "pass", []),
        ("h = torch.tanh(net(x) + torch.tensor(h.tolist()))", "pass", []),
        ("h = (lambda a, b: torch.tanh(net(a) + b))(x, h)", "pass", ["SP103"]),
        ("h = [torch.tanh(net(x) + p) for p in [h]][0]", "pass", ["SP103"]),
        ("h, = (torch.tanh(net(x) + h),)", "pass", ["SP103"]),
        ("h = torch.tanh(net(x) + h) if x.sum() > 0 else torch.tanh(net(x) - h)", "pass", ["SP103"]),
    ],
)
def test_state_is_followed_through_expressions(tmp_path: Path, step: str, after: str, found: list[str]) -> None:
    assert codes(tmp_path, CARRY.format(step=step, after=after)) == found


def test_a_branch_that_may_cut_the_history_is_no_finding(tmp_path: Path) -> None:
    body = CARRY.format(step="h = torch.tanh(net(x) + h)", after="if flag(): h = h.detach()")
    assert codes(tmp_path, "from somewhere import flag\n" + textwrap.dedent(body)) == []


def test_the_same_open_question_has_one_answer(tmp_path: Path) -> None:
    body = """
        from somewhere import config
        for x in torch.randn(9, 1, 3):
            loss = net(x).pow(2).sum()
            opt.zero_grad()
            if config.twice:
                loss.backward(retain_graph=True)
            else:
                loss.backward()
            if config.twice:
                loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


def test_a_fault_behind_an_open_question_is_found(tmp_path: Path) -> None:
    body = """
        from somewhere import config
        for x in torch.randn(9, 1, 3):
            loss = net(x).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            if config.twice:
                loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP101"]


def test_code_that_cannot_be_read_is_no_evidence(tmp_path: Path) -> None:
    body = """
        from somewhere import model, optimizer
        h = None
        for x in torch.randn(9, 1, 3):
            out, h = model(x, h)
            loss = out.pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    assert codes(tmp_path, body) == []


def test_calls_are_followed_into_other_files(tmp_path: Path) -> None:
    helper = """
        import torch
        class Keeper:
            def __init__(self):
                self.value = torch.zeros(1, 3)
            def mix(self, new):
                self.value = torch.tanh(self.value + new)
                return self.value
    """
    body = """
        from helper import Keeper
        keeper = Keeper()
        for x in torch.randn(9, 1, 3):
            loss = keeper.mix(net(x)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body, helper=helper) == ["SP103"]


def test_cyclic_imports_end(tmp_path: Path) -> None:
    body = """
        import other
        for x in torch.randn(9, 1, 3):
            loss = net(x).pow(2).sum()
            loss.backward()
            loss.backward()
    """
    assert codes(tmp_path, body, other="import main\nfrom main import net\n") == ["SP101"]


def test_generators_are_lazy(tmp_path: Path) -> None:
    body = """
        def roll(h):
            for x in torch.randn(9, 1, 3):
                h = torch.tanh(net(x) + h)
                yield h
                h = h.detach()
        for out in roll(torch.zeros(1, 3)):
            opt.zero_grad()
            out.sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []
    assert codes(tmp_path, body.replace("h = h.detach()", "pass")) == ["SP103"]


def test_context_managers_and_decorators(tmp_path: Path) -> None:
    body = """
        from contextlib import contextmanager
        @contextmanager
        def quiet():
            with torch.no_grad():
                yield
        h = torch.zeros(1, 3)
        for x in torch.randn(9, 1, 3):
            with quiet():
                h = torch.tanh(net(x) + h)
            loss = (net(x) - h).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


def test_dataclasses_and_properties(tmp_path: Path) -> None:
    body = """
        from dataclasses import dataclass, field
        @dataclass
        class State:
            h: torch.Tensor = field(default_factory=lambda: torch.zeros(1, 3))
            @property
            def out(self):
                return self.h * 2
        state = State()
        for x in torch.randn(9, 1, 3):
            state = State(torch.tanh(net(x) + state.out))
            opt.zero_grad()
            state.h.sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP103"]


def test_counters_are_counted(tmp_path: Path) -> None:
    body = """
        total = 0
        for i, x in enumerate(torch.randn(40, 1, 3)):
            total = total + net(x).pow(2).sum()
            if (i + 1) % 5 == 0:
                opt.zero_grad()
                total.backward()
                opt.step()
            if (i + 1) % {reset} == 0:
                total = 0
    """
    assert codes(tmp_path, body.format(reset=5)) == []
    assert codes(tmp_path, body.format(reset=10)) == ["SP105"]


def test_a_loop_that_runs_once_carries_nothing(tmp_path: Path) -> None:
    body = """
        h = torch.zeros(1, 3)
        for epoch in range(1):
            h = torch.tanh(net(torch.randn(1, 3)) + h)
            opt.zero_grad()
            h.sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


def test_saved_tensors_of_a_spent_node(tmp_path: Path) -> None:
    body = """
        loss = net(torch.randn(2, 3)).tanh().sum()
        fn = loss.grad_fn.next_functions[0][0]
        loss.backward()
        print(fn._saved_result)
    """
    assert codes(tmp_path, body) == ["SP108"]


def test_sums_that_save_nothing_are_counted_again(tmp_path: Path) -> None:
    body = """
        b = torch.zeros(3, requires_grad=True)
        opt = torch.optim.SGD([b], lr=0.1)
        total = torch.zeros(3)
        for x in torch.randn(20, 3):
            total = total + b + x
            opt.zero_grad()
            total.sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP110"]


def test_a_head_that_was_replaced(tmp_path: Path) -> None:
    body = """
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net[1] = nn.Linear(4, 5)
        for x in torch.randn(9, 1, 3):
            opt.zero_grad()
            net(x).pow(2).sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP406"]


def test_lightning_modules_are_trained_as_lightning_does(tmp_path: Path) -> None:
    body = """
        import pytorch_lightning as pl
        class Net(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(3, 3)
                self.h = torch.zeros(1, 3)
            def training_step(self, batch, index):
                self.h = self.cell(torch.randn(1, 3), self.h)
                return self.h.pow(2).mean()
            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())
    """
    assert codes(tmp_path, body) == ["SP103"]
    assert (
        codes(
            tmp_path,
            body.replace("self.cell(torch.randn(1, 3), self.h)", "self.cell(torch.randn(1, 3), self.h.detach())"),
        )
        == []
    )


def test_accelerate_and_scalers(tmp_path: Path) -> None:
    body = """
        from accelerate import Accelerator
        accelerator = Accelerator()
        net, opt = accelerator.prepare(net, opt)
        for x in torch.randn(9, 1, 3):
            loss = net(x).pow(2).sum()
            opt.zero_grad()
            accelerator.backward(loss)
            {again}
            opt.step()
    """
    assert codes(tmp_path, body.format(again="accelerator.backward(loss)")) == ["SP101"]
    assert codes(tmp_path, body.format(again="pass")) == []


@pytest.mark.parametrize("gather", ["gather", "gather_for_metrics", "reduce"])
def test_what_one_process_gathers_is_its_own_tensor(tmp_path: Path, gather: str) -> None:
    body = """
        from accelerate import Accelerator
        accelerator = Accelerator()
        net, opt = accelerator.prepare(net, opt)
        total = 0.0
        for x in torch.randn(90, 1, 3):
            loss = net(x).pow(2).sum()
            opt.zero_grad()
            accelerator.backward(loss)
            opt.step()
            total = total + accelerator.{gather}({value})
        accelerator.wait_for_everyone()
        print(total)
    """
    assert codes(tmp_path, body.format(gather=gather, value="loss")) == ["SP401"]
    assert codes(tmp_path, body.format(gather=gather, value="loss.detach()")) == []


def test_functions_that_nobody_calls_are_read_too(tmp_path: Path) -> None:
    body = """
        def train(loader, device):
            for x, y in loader:
                loss = F.mse_loss(net(x.to(device)), y)
                loss.backward()
                loss.backward()
    """
    assert codes(tmp_path, body) == ["SP101"]


def test_a_test_that_wants_the_error_is_no_finding(tmp_path: Path) -> None:
    body = """
        import pytest
        def test_twice():
            loss = net(torch.randn(1, 3)).pow(2).sum()
            loss.backward()
            with pytest.raises(RuntimeError):
                loss.backward()
    """
    assert codes(tmp_path, body) == []


def test_sizes_that_cannot_be_told_leave_no_doubt_about_parameters(tmp_path: Path) -> None:
    body = """
        import some_environment
        env = some_environment.make()
        class Value(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.a, self.b = nn.Linear(size, 8), nn.Linear(8, 1)
            def forward(self, x):
                return self.b(self.a(x).relu())
        value, policy = Value(env.size), Value(env.size)
        opt_v = torch.optim.Adam(value.parameters())
        opt_p = torch.optim.Adam(policy.parameters())
        for x in env.batches():
            value_loss = value(x).pow(2).mean()
            policy_loss = -value(policy(x)).mean()
            opt_v.zero_grad()
            value_loss.backward()
            {between}
            opt_p.zero_grad()
            policy_loss.backward()
            opt_p.step()
            {after}
    """
    assert codes(tmp_path, body.format(between="opt_v.step()", after="pass")) == ["SP201"]
    assert codes(tmp_path, body.format(between="pass", after="opt_v.step()")) == []


def test_several_values_under_one_name_are_no_store(tmp_path: Path) -> None:
    body = """
        halves = net(torch.ones(2, 3)).exp().chunk(2)
        both = tuple(h * 2 for h in halves)
        for x in torch.randn(9, 3):
            {again}
            opt.zero_grad()
            (x * (both[0] + both[1]) ** 2).sum().backward()
            opt.step()
    """
    assert codes(tmp_path, body.format(again="pass")) == ["SP104"]
    again = "both = tuple(h * 2 for h in net(torch.ones(2, 3)).exp().chunk(2))"
    assert codes(tmp_path, body.format(again=again)) == []


PHYSICS = """
    def derivative(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y), {how}=True)[0]
    def residual(x):
        u = net(x)
        return derivative(u, x) + u
    for _ in range(20):
        x = torch.rand(8, 3, requires_grad=True)
        opt.zero_grad()
        loss = residual(x).pow(2).mean() + net(torch.zeros(1, 3)).pow(2).mean()
        loss.backward()
        opt.step()
"""


def test_a_derivative_in_a_sum_needs_its_graph(tmp_path: Path) -> None:
    assert codes(tmp_path, PHYSICS.format(how="retain_graph")) == ["SP109"]
    assert codes(tmp_path, PHYSICS.format(how="create_graph")) == []


def test_a_gradient_that_weighs_a_loss_is_data(tmp_path: Path) -> None:
    body = """
        def balance(one, other, at):
            g_one = torch.autograd.grad(one, at, retain_graph=True)[0]
            g_other = torch.autograd.grad(other, at, retain_graph=True)[0]
            return g_one.norm() / (g_other.norm() + 1e-6)
        for x in torch.randn(20, 4, 3):
            out = net(x)
            fit, size = (out - 1).pow(2).mean(), out.abs().mean()
            loss = fit + 0.5 * {term}
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body.format(term="balance(fit, size, out) * size")) == []
    assert "SP109" in codes(tmp_path, body.format(term="balance(fit, size, out)"))


@pytest.mark.parametrize(
    "until", ["len(losses) < self.every", "len(losses) != self.every", "not self.every <= len(losses)"]
)
def test_a_list_that_is_filled_turn_by_turn_is_as_long_as_it_is(tmp_path: Path, until: str) -> None:
    body = """
        class Carry:
            def __init__(self, every):
                self.every, self.count, self.state = every, 0, None
            def store(self, state):
                self.count += 1
                self.state = state.detach() if self.count % self.every == {cut} else state
        self, losses = Carry(2), []
        for x in torch.randn(20, 4, 3):
            h = net(x if self.state is None else x + self.state.mean())
            losses.append(h.pow(2).mean())
            self.store(h)
            if {until}:
                continue
            opt.zero_grad()
            torch.stack(losses).mean().backward()
            opt.step()
            losses.clear()
    """
    assert codes(tmp_path, body.format(until=until, cut=0)) == []
    assert codes(tmp_path, body.format(until=until, cut=1)) == ["SP103"]


def test_a_gradient_that_goes_through_the_network_is_data(tmp_path: Path) -> None:
    body = """
        def perturbed(x):
            x = x.clone().requires_grad_(True)
            g = torch.autograd.grad(net(x).pow(2).sum(), x)[0]
            return x + 0.1 * g / g.norm()
        for x in torch.randn(20, 4, 3):
            opt.zero_grad()
            hard = net(perturbed(x)).pow(2).mean()
            (net(x).pow(2).mean() + hard).backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


def test_what_is_done_to_parameters_is_done_to_all_of_them(tmp_path: Path) -> None:
    body = """
        import copy
        deep = nn.Sequential(*[nn.Linear(3, 3) for _ in range(6)])
        frozen = copy.deepcopy(deep)
        for p in frozen.parameters():
            p.requires_grad = {needs}
        targets = [frozen(torch.ones(1, 3)), frozen(torch.zeros(1, 3))]
        opt = torch.optim.SGD(deep.parameters(), lr=0.1)
        for epoch in range(9):
            for target in targets:
                opt.zero_grad()
                (deep(torch.randn(1, 3)) - target).pow(2).mean().backward()
                opt.step()
    """
    assert codes(tmp_path, body.format(needs="False")) == []
    assert codes(tmp_path, body.format(needs="True")) == ["SP107"]


def test_parameters_put_into_the_groups_of_an_optimizer(tmp_path: Path) -> None:
    body = """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 8), nn.Linear(8, 2)
            def forward(self, x):
                return self.head(self.body(x))
        model = Model()
        opt = torch.optim.SGD([{{"params": model.body.parameters()}}, {{"params": model.head.parameters(), "lr": 0.1}}])
        model.head = nn.Linear(8, 3)
        {renew}
        for x in torch.randn(9, 3):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
    """
    assert codes(tmp_path, body.format(renew="pass")) == ["SP406"]
    assert codes(tmp_path, body.format(renew='opt.param_groups[1]["params"] = list(model.head.parameters())')) == []


def test_named_tuples_are_followed(tmp_path: Path) -> None:
    body = """
        from typing import NamedTuple
        class State(NamedTuple):
            h: torch.Tensor
            n: int = 0
        state = State(torch.zeros(1, 3))
        for x in torch.randn(9, 1, 3):
            h, n = state
            state = State(torch.tanh(net(x) + h), n + 1){end}
            opt.zero_grad()
            state.h.pow(2).sum().backward()
            opt.step()
            {after}
    """
    assert codes(tmp_path, body.format(end="", after="pass")) == ["SP103"]
    assert codes(tmp_path, body.format(end="", after="state = state._replace(h=state.h.detach())")) == []


def test_a_module_called_with_other_parameters(tmp_path: Path) -> None:
    body = """
        from torch.func import functional_call
        base = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).requires_grad_(False)
        {before}
        for x in torch.randn(9, 4, 3):
            {inside}
            opt.zero_grad()
            functional_call(base, weights, (x,)).pow(2).mean().backward()
            opt.step()
    """
    merge = 'weights = {**dict(base.named_parameters()), "2.weight": base[2].weight * net(torch.ones(1, 3)).exp()}'
    assert codes(tmp_path, body.format(before=merge, inside="pass")) == ["SP104"]
    assert codes(tmp_path, body.format(before="pass", inside=merge)) == []


def test_what_a_queue_holds_is_spread_out(tmp_path: Path) -> None:
    body = """
        from collections import deque
        queue = deque(maxlen=4)
        for x in torch.randn(20, 1, 3):
            key = net(x).exp()
            loss = torch.cat([key, *queue]).pow(2).mean()
            queue.append(key{end})
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body.format(end="")) == ["SP107"]
    assert codes(tmp_path, body.format(end=".detach()")) == []


LATER = """
    aux = nn.Linear(3, 3)
    opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], lr=0.1)
    kept = []
    for step in range(1000):
        hidden = net(torch.randn(4, 3))
        loss, other = hidden.pow(2).mean(), aux(hidden.detach()).pow(2).mean()
        {early}
        opt.zero_grad()
        loss.backward({how})
        {late}
        opt.step()
        {end}
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({}, ["SP406"]),
        ({"early": "if step > 200: loss = loss + other"}, []),
        ({"early": "loss = loss + other", "how": "retain_graph=True"}, ["SP402"]),
        ({"early": "loss = loss + other", "how": "retain_graph=True", "late": "if step > 500: other.backward()"}, []),
        ({"early": "loss = loss + other", "end": "kept.append(loss)"}, ["SP401"]),
        ({"early": "loss = loss + other", "end": "kept.append(loss)\n        if step % 50 == 49: kept.clear()"}, []),
        ({"early": "loss = loss + other", "end": "kept.append(loss)\n        if len(kept) > 99: kept = []"}, []),
        (
            {"early": "loss = loss + other", "end": "kept.append(loss)\n        if step == 9: print(kept[-1])"},
            ["SP401"],
        ),
    ],
)
def test_what_a_loop_does_later_may_change_what_is_silent(
    tmp_path: Path, words: dict[str, str], found: list[str]
) -> None:
    given = {"early": "pass", "how": "", "late": "pass", "end": "pass", **words}
    assert codes(tmp_path, LATER.format(**given)) == found


CACHED = """
    from functools import lru_cache
    table = nn.Embedding(5, 3)
    opt = torch.optim.SGD([*net.parameters(), *table.parameters()], lr=0.1)
    {cache}
    for x in torch.randn(9, 1, 3):
        for i in torch.randint(5, (2,)):
            loss = (net(x) * embed({key})).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            {after}
"""
BY_LIBRARY = """@lru_cache(maxsize=None)
    def embed(i):
        return torch.tanh(table(i))"""
BY_METHOD = """class Table:
        @lru_cache(maxsize=None)
        def row(self, i):
            return torch.tanh(table(i))
    rows = Table()
    embed = rows.row"""
BY_HAND = """known = {}
    def embed(i):
        if i not in known:
            known[i] = torch.tanh(table(i))
        return known[i]"""


@pytest.mark.parametrize(
    ("cache", "key", "after", "found"),
    [
        (BY_LIBRARY, "int(i)", "pass", ["SP107"]),
        (BY_LIBRARY, "int(i)", "embed.cache_clear()", []),
        (BY_METHOD, "int(i)", "pass", ["SP107"]),
        (BY_METHOD, "int(i)", "rows.row.cache_clear()", []),
        (BY_LIBRARY, "i", "pass", []),  # a tensor is known by its identity: no call finds another's result
        (BY_LIBRARY.replace("tanh(table(i))", "ones(3)"), "int(i)", "pass", []),
        (BY_HAND, "int(i)", "pass", ["SP107"]),
        (BY_HAND, "int(i)", "known.clear()", []),
        (BY_HAND.replace("tanh(table(i))", "tanh(table(i)).detach()"), "int(i)", "pass", ["SP406"]),
    ],
)
def test_what_a_cache_keeps_comes_again(tmp_path: Path, cache: str, key: str, after: str, found: list[str]) -> None:
    assert codes(tmp_path, CACHED.format(cache=cache, key=key, after=after)) == found


RESTORED = """
    import copy
    deep = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(deep.parameters(), lr=0.1)
    best = copy.deepcopy(deep.state_dict())
    for x in torch.randn(9, 1, 3):
        {before}
        loss = deep(x).pow(2).sum()
        {between}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("before", "between", "found"),
    [
        ("pass", "deep.load_state_dict(best)", ["SP201"]),
        ("pass", "if loss.item() > 3: deep.load_state_dict(best)", ["SP201"]),
        ("deep.load_state_dict(best)", "pass", []),
        ("pass", "best = copy.deepcopy(deep.state_dict())", []),
        ("pass", "deep.load_state_dict(best, strict=False)", []),
    ],
)
def test_loading_a_state_changes_parameters(tmp_path: Path, before: str, between: str, found: list[str]) -> None:
    assert codes(tmp_path, RESTORED.format(before=before, between=between)) == found


FROZEN = """
    for p in net.parameters():
        p.requires_grad = False
    {after}
    for x in torch.randn(9, 1, 3):
        loss = net(x).pow(2).sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
"""


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("pass", ["SP301"]),
        ("for p in net.parameters(): p.require_grad = True", ["SP301"]),
        ("for p in net.parameters(): p.requires_grad = True", []),
        ("net.requires_grad_(True)", []),
    ],
)
def test_a_loss_of_frozen_parameters_has_no_history(tmp_path: Path, after: str, found: list[str]) -> None:
    assert codes(tmp_path, FROZEN.format(after=after)) == found


def test_a_suppressed_error_is_a_swallowed_one(tmp_path: Path) -> None:
    body = """
    from contextlib import suppress
    for x in torch.randn(9, 1, 3):
        out = torch.tanh(net(x))
        opt.zero_grad()
        out.sum().backward()
        with suppress(RuntimeError):
            out.mean().backward()
        opt.step()
    """
    assert codes(tmp_path, body) == ["SP407"]


def test_the_names_of_other_files_are_looked_at(tmp_path: Path) -> None:
    body = """
    from meter import record
    for step in range(50):
        loss = net(torch.randn(1, 3)).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        record("loss", step, {value})
    """
    meter = """
    STORE = {"loss": {}}
    def record(kind, step, value):
        STORE[kind][step] = value
    """
    assert codes(tmp_path, body.format(value="loss"), meter=meter) == ["SP401"]
    assert codes(tmp_path, body.format(value="loss.item()"), meter=meter) == []


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("[net(x) for x in xs]", ["SP101"]),
        ("list(map(net, xs))", ["SP101"]),
        ("list(itertools.starmap(lambda x, n: net(x) * n, zip(xs, [1, 2, 3])))", ["SP101"]),
        ("list(itertools.starmap(lambda x, n: net(x).detach() * n, zip(xs, [1, 2, 3]))) + [net(xs[0])]", ["SP101"]),
    ],
)
def test_functions_over_many_are_called(tmp_path: Path, made: str, found: list[str]) -> None:
    body = f"""
    import itertools
    xs = [torch.randn(1, 3) for _ in range(3)]
    loss = torch.stack({made}).pow(2).sum()
    loss.backward()
    loss.backward()
    """
    assert codes(tmp_path, body) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("itertools.accumulate(map(loss, xs))", True),
        ("itertools.accumulate(map(loss, xs), lambda old, new: 0.9 * old + 0.1 * new)", True),
        ("itertools.accumulate(map(loss, xs), lambda old, new: 0.9 * old.detach() + 0.1 * new)", False),
        ("itertools.accumulate(map(loss, xs), lambda old, new: new, initial=loss(xs[0]))", False),
    ],
)
def test_what_accumulates_goes_on_with_its_own_result(tmp_path: Path, made: str, found: bool) -> None:
    body = f"""
    import itertools
    xs = torch.randn(9, 2, 3)
    def loss(x):
        return net(x).pow(2).mean()
    for total in {made}:
        opt.zero_grad()
        total.backward()
        opt.step()
    """
    assert bool(codes(tmp_path, body)) == found


FIELDS = """
    import dataclasses
    @dataclasses.dataclass
    class State:
        deep: torch.Tensor
        flat: torch.Tensor
        def through(self, act):
            return State(*(act(getattr(self, f.name)) for f in dataclasses.fields(self)))
    state = State(torch.zeros(1, 3), torch.zeros(1, 3))
    for x in torch.randn(9, 1, 3):
        {before}
        state = dataclasses.replace(state, deep=torch.tanh(net(x) + state.deep))
        opt.zero_grad()
        (state.deep + state.flat).pow(2).sum().backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("state = state.through(lambda t: t * 0.9)", ["SP103"]),
        ("state = state.through(lambda t: t.detach())", []),
        ("state = State(**{f.name: getattr(state, f.name) for f in dataclasses.fields(State)})", ["SP103"]),
        ("state = State(**{n: v.detach() for n, v in vars(state).items()})", []),
    ],
)
def test_the_fields_of_a_data_class_are_known(tmp_path: Path, before: str, found: list[str]) -> None:
    assert codes(tmp_path, FIELDS.replace("{before}", before)) == found


def test_what_a_data_class_gives_as_a_dict_are_copies(tmp_path: Path) -> None:
    body = """
    import dataclasses
    @dataclasses.dataclass
    class State:
        h: torch.Tensor
    state = State(torch.zeros(1, 3))
    for x in torch.randn(9, 1, 3):
        state = State({taken})
        state = State(torch.tanh(net(x) + state.h))
        opt.zero_grad()
        state.h.pow(2).sum().backward()
        opt.step()
        state.h = state.h.detach()
    """
    for taken in ("**dataclasses.asdict(state)", "*dataclasses.astuple(state)"):
        assert codes(tmp_path, body.replace("{taken}", taken)) == []


@pytest.mark.parametrize(("put", "found"), [("h", ["SP107"]), ("h.detach()", [])])
def test_a_generator_of_random_numbers_draws_as_the_module_does(tmp_path: Path, put: str, found: list[str]) -> None:
    body = f"""
    import random
    draw, shelf = random.Random(3), []
    for x in torch.randn(30, 1, 3):
        h = torch.tanh(net(x))
        old = draw.sample(shelf, min(4, len(shelf)))
        loss = torch.cat([h, *old]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        shelf.append({put})
    """
    assert codes(tmp_path, body) == found


EVENTS = """
    import collections
    import enum
    class Event(enum.{kind}):
        BEFORE = {first}
        AFTER = {second}
    acts = collections.defaultdict(list)
    acts[Event.BEFORE].append(lambda loss: {before})
    acts[Event.AFTER].append(lambda loss: {after})
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        for act in acts[Event.BEFORE]:
            act(loss)
        for act in acts[Event({second})] if {by_value} else acts[Event["AFTER"]]:
            act(loss)
        opt.step()
"""


@pytest.mark.parametrize("by_value", [True, False])
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [("Enum", "enum.auto()", "2"), ("Enum", "'b'", "'a'"), ("IntEnum", "enum.auto()", "2"), ("StrEnum", "'b'", "'a'")],
)
def test_the_members_of_an_enumeration_are_apart(
    tmp_path: Path, kind: str, first: str, second: str, by_value: bool
) -> None:
    def found(before: str, after: str) -> list[str]:
        made = EVENTS.format(kind=kind, first=first, second=second, by_value=by_value, before=before, after=after)
        return codes(tmp_path, made)

    assert found("loss.backward()", "loss.item()") == []
    assert found("loss.backward()", "loss.backward()") == ["SP101"]
    assert found("loss.backward()", "loss.backward() if Event.BEFORE is Event.AFTER else None") == []
    assert found("loss.backward()", "loss.backward() if [e.name for e in Event] == ['BEFORE', 'AFTER'] else None") == [
        "SP101"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "total += (yield total / n)",
        "total = total + (yield total / n)",
        "keep.append((yield total / n)); total = total + keep[-1]",
        "while (new := (yield total / n)) is not None:\n                total = total + new",
    ],
)
def test_a_generator_is_sent_values_wherever_it_yields(tmp_path: Path, body: str) -> None:
    text = """
    def mean():
        total, n, keep = {start}, 1.0, []
        while True:
            {body}
            n += 1
    meter = mean()
    next(meter)
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        {first}
        shown = meter.send({value})
        {last}
        opt.step()
    """.replace("{body}", body)
    first = {"first": "loss.backward()", "value": "loss.item()"}
    assert codes(tmp_path, text.format(start="0.0", first="pass", last="shown.backward()", value="loss"))
    assert codes(tmp_path, text.format(start="0.0", last="pass", **first)) == []
    assert codes(tmp_path, text.format(start="0.0", last="loss.backward()", **first)) == ["SP101"]


@pytest.mark.parametrize(
    ("before", "through"),
    [
        ("get = operator.itemgetter(0)", "get(({}, 1))"),
        ("get = operator.itemgetter('b', 'a')", "get({{'a': {}, 'b': 1}})[1]"),
        ("get = operator.attrgetter('T.T')", "get({})"),
        ("get = operator.methodcaller('mul', 2)", "get({})"),
        ("", "operator.add({}, 1)"),
        ("", "functools.reduce(operator.mul, [{}, 2])"),
        ("", "list(zip(*itertools.tee([{}])))[0][1]"),
        ("", "next(itertools.takewhile(lambda v: v is not None, [{}, None]))"),
        ("", "next(itertools.dropwhile(lambda v: v is None, [None, {}]))"),
        ("", "next(itertools.filterfalse(lambda v: v is None, [None, {}]))"),
        ("", "list(itertools.batched([1, 2, {}], 2))[1][0]"),
        ("own = threading.local()", "[setattr(own, 'h', {}), own.h][1]"),
        ("line = queue.Queue()", "[line.put({}), line.get()][1]"),
        ("line = queue.LifoQueue()\n    line.put(1)", "[line.put_nowait({}), line.get_nowait()][1]"),
        ("", "contextlib.nullcontext({}).__enter__()"),
    ],
)
def test_the_library_hands_on_what_it_is_given(tmp_path: Path, before: str, through: str) -> None:
    body = f"""
    import contextlib, functools, itertools, operator, queue, threading
    {before}
    h = torch.zeros(1, 3)
    for x in torch.randn(9, 1, 3):
        h = torch.tanh(net(x) + h)
        h = {through}
        opt.zero_grad()
        h.pow(2).sum().backward()
        opt.step()
    """
    assert codes(tmp_path, body.replace(through, through.format("h"))) == ["SP103"]
    assert (
        codes(
            tmp_path,
            body.replace(through, through.format("h") + ".detach()").replace("sum()", "sum().add(net(x).sum())"),
        )
        == []
    )
