# SPDX-License-Identifier: BSD-3-Clause
"""Results of any form are kept; what others do to tensors, parameters and the model between passes is borne."""

import threading
from collections import UserDict
from types import SimpleNamespace

import pytest
import torch
from programs import differences, seed
from test_side_effects import Block, Stack
from torch import nn

import secondpass

X = torch.linspace(-1, 1, 64).reshape(8, 8)
OPTIONS = {
    "everything": {}, "recompute": {"policy": "recompute"}, "offload": {"policy": "offload"},
    "budget": {"budget": "80% of full"}, "plenty": {"budget": "1GB"},
}  # fmt: skip


class Holder:
    def __init__(self, value):
        self.inner = {"deep": [value]}


class Slotted:
    """Has no `__dict__`."""

    __slots__ = ("inner", "never_set")

    def __init__(self, value):
        self.inner = value


class Callable:
    def __init__(self, value):
        self.value = value

    def __call__(self):
        return self.value


def generate(value):
    yield value


FORMS = {
    "distribution": (lambda y: torch.distributions.Normal(y, 1.0), lambda out: out.loc),
    "namespace": (lambda y: SimpleNamespace(y=y), lambda out: out.y),
    "mapping": (lambda y: UserDict(y=y), lambda out: out["y"]),
    "object": (Holder, lambda out: out.inner["deep"][0]),
    "slots": (Slotted, lambda out: out.inner),
    "callable": (Callable, lambda out: out()),
    "generator": (generate, next),
    "closure": (lambda y: lambda: y, lambda out: out()),
}


class Formed(nn.Module):
    def __init__(self, form):
        super().__init__()
        seed(0)
        self.stack, self.form = Stack(), form

    def forward(self, x):
        return self.form(self.stack(x))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_results_of_any_form(form, options):
    make, take = FORMS[form]
    model = Formed(make)
    parameters = list(model.parameters())
    kept = secondpass.keep(model, **options)
    expected = list(torch.autograd.grad(take(model(X)).pow(2).sum(), parameters))
    if not options and form in ("generator", "closure"):
        with pytest.warns(UserWarning, match="found no output with a history"):
            kept(X)
        return
    for _ in range(3):
        out = take(kept(X))
        for _ in range(2):
            assert differences(list(torch.autograd.grad(out.pow(2).sum(), parameters)), expected) == []
        del out


def test_nothing_is_found():
    """A generator has computed nothing yet when the call returns."""

    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = Stack()

        def forward(self, x):
            h = self.stack(x)
            return iter([h.detach()])

    with pytest.warns(UserWarning, match="found no output with a history"):
        secondpass.keep(Lazy())(X)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_what_is_computed_after_the_call_is_not_kept(options):
    class Lazy(Stack):
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
                yield x

    model = Lazy()
    with pytest.warns(UserWarning, match="computes when it is asked for more"):
        outs = list(secondpass.keep(model, **options)(X))
    outs[-1].sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        outs[-1].sum().backward()


def test_batched_passes():
    """All losses at once: `is_grads_batched`, as vmapped passes run."""
    seed(0)
    model = Stack()
    parameters = list(model.parameters())
    out = model(X)[:, :3].sum(0)
    expected = torch.autograd.grad(out, parameters, torch.eye(3), is_grads_batched=True)
    for options in OPTIONS.values():
        kept = secondpass.keep(model, **options)
        for _ in range(2):
            out = kept(X)[:, :3].sum(0)
            for _ in range(2):
                found = torch.autograd.grad(out, parameters, torch.eye(3), is_grads_batched=True)
                assert differences(list(found), list(expected)) == []


def test_torchjd():
    autojac = pytest.importorskip("torchjd.autojac")
    seed(0)
    model = Stack()
    parameters = list(model.parameters())
    expected = autojac.jac(list(model(X)[:, :3].sum(0)), parameters)
    for options in OPTIONS.values():
        kept = secondpass.keep(model, **options)
        for _ in range(2):
            out = kept(X)
            found = autojac.jac(list(out[:, :3].sum(0)), parameters)
            assert differences(list(found), list(expected)) == []
            del out


def optimizers():
    yield "fused", lambda parameters: torch.optim.AdamW(parameters, lr=0.1, fused=True)
    yield "foreach", lambda parameters: torch.optim.SGD(parameters, lr=0.1, foreach=True)
    yield "data", ThroughData


class ThroughData(torch.optim.Optimizer):
    """Writes to `.data`: no version moves."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for value in group["params"]:
                if value.grad is not None:
                    value.data.sub_(value.grad, alpha=0.1)


@pytest.mark.parametrize(("name", "make"), optimizers(), ids=[name for name, _ in optimizers()])
@pytest.mark.parametrize("options", list(OPTIONS.values())[1:], ids=list(OPTIONS)[1:])
def test_a_pass_after_a_step_is_refused(name, make, options):
    seed(0)
    model = Stack()
    kept = secondpass.keep(model, **options)
    optimizer = make(model.parameters())
    for _ in range(3):
        out = kept(X)
        out.sum().backward()
        optimizer.step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.mean().backward()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_average_that_is_written_between(options):
    """A buffer that is not in the graph moves between forward and pass, as averages of weights do."""

    class Averaging(Block):
        def __init__(self):
            super().__init__()
            self.register_buffer("average", torch.zeros(8))

        def forward(self, x):
            y = super().forward(x)
            with torch.no_grad():
                self.average.lerp_(y.mean(0), 0.1)
            return y

    def run(call, model, retain):
        found = []
        for _ in range(3):
            seed(1)
            out = call(X)
            found += torch.autograd.grad(out.sum(), list(model.parameters()), retain_graph=True if retain else None)
            for block in model.blocks:
                block.average.mul_(0.5)
            found += torch.autograd.grad(out.pow(2).sum(), list(model.parameters()))
        return found + [b.clone() for b in model.buffers()]

    seed(0)
    model = Stack(Averaging)
    expected = run(model, model, True)
    seed(0)
    model = Stack(Averaging)
    assert differences(run(secondpass.keep(model, **options), model, False), expected) == []


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_thread_that_runs_the_model_while_a_pass_recomputes(options):
    seed(0)
    model = Stack(lambda: nn.Sequential(Block(), nn.Dropout(0.0)))
    parameters = list(model.parameters())
    kept = secondpass.keep(model, **options)
    expected = list(torch.autograd.grad(model(X).sum(), parameters))
    stop, failures = threading.Event(), []

    def serve():
        while not stop.is_set():
            with torch.no_grad():
                if not torch.isfinite(model(X)).all():
                    failures.append("not finite")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for _ in range(5):
            out = kept(X)
            for _ in range(2):
                assert differences(list(torch.autograd.grad(out.sum(), parameters)), expected) == []
    finally:
        stop.set()
        thread.join()
    assert failures == []


def test_a_librarys_model_is_saved_as_what_it_is(tmp_path):
    from libraries import EXAMPLES

    example = EXAMPLES["gpt2"]
    model = example.make()
    kept = secondpass.keep(model, budget="1GB")
    kept.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path)
    assert again.config.architectures == ["GPT2LMHeadModel"]
    one, two = model.eval()(**example.inputs(0)), again.eval()(**example.inputs(0))
    assert torch.equal(one.logits, two.logits)


def test_a_cache_is_detached():
    from libraries import EXAMPLES

    out = EXAMPLES["gpt2"].make()(**EXAMPLES["gpt2"].inputs(0), use_cache=True)
    cache = secondpass.detach(out.past_key_values)
    assert type(cache) is type(out.past_key_values)
    assert all(not layer.keys.requires_grad for layer in cache.layers)
    assert all(layer.keys.requires_grad for layer in out.past_key_values.layers)


def adapted(linear, rank=2):
    """As low-rank adapters are put in: the weight is frozen, two small ones learn."""

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = linear.requires_grad_(False)
            self.down, self.up = nn.Linear(linear.in_features, rank, False), nn.Linear(rank, linear.out_features, False)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x):
            return self.base(x) + self.up(self.down(self.dropout(x))) * 2.0

    return Adapted()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_adapters(options):
    seed(0)
    model = Stack()
    model.requires_grad_(False)
    for block in model.blocks:
        block.up, block.down = adapted(block.up), adapted(block.down)
    parameters = [p for p in model.parameters() if p.requires_grad]
    kept = secondpass.keep(model, **options)
    for _ in range(3):
        found = []
        for call, retain in ((model, True), (kept, None)):
            seed(1)
            out = call(X)
            found.append([])
            for number in range(2):
                found[-1] += torch.autograd.grad(out[:, number].sum(), parameters, retain_graph=retain)
        assert differences(*found) == []


class Leaving(nn.Module):
    """What passes start from is not what it returns."""

    def __init__(self, returns):
        super().__init__()
        seed(0)
        self.stack, self.returns, self.losses = Stack(), returns, []

    def forward(self, x, bag):
        self.losses.clear()
        for block in self.stack.blocks:
            x = block(x)
            self.losses.append(x.pow(2).mean())
            bag.append(x.sin().sum())
        return x if self.returns else x.detach()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.parametrize("where", ["a module", "an argument", "a hook"])
def test_passes_over_what_a_call_has_left_behind(where, returns, options):
    """The result is dropped, or has no history: what modules, arguments and hooks have of the call is kept as well."""
    model, seen = Leaving(returns), []
    for block in model.stack.blocks:
        block.register_forward_hook(lambda module, args, out: seen.append(out.abs().sum()))
    parameters = list(model.parameters())
    kept = secondpass.keep(model, **options)

    def rows(call, retain):
        seen.clear()
        bag = []
        call(X, bag)
        losses = {"a module": model.losses, "an argument": bag, "a hook": seen}[where]
        if where != "a module":
            model.losses.clear()
        return [
            found
            for loss in (*losses, losses[0])
            for found in torch.autograd.grad(loss, parameters, retain_graph=retain, allow_unused=True)
        ]

    expected = rows(model, True)
    for _ in range(3):
        assert differences(rows(kept, None), expected) == []


def test_a_call_ends_with_the_last_of_its_graph():
    model = Leaving(True)
    kept, bag = secondpass.keep(model), []
    kept(X, bag)
    assert len(kept._keeper.calls) == 1
    model.losses.clear()
    del bag[1:]
    assert len(kept._keeper.calls) == 1
    bag.clear()
    assert len(kept._keeper.calls) == 0
