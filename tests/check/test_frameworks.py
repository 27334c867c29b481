# SPDX-License-Identifier: BSD-3-Clause
"""Frameworks that walk the loop themselves, or wrap the pass: Lightning, Hugging Face, Accelerate, Fabric, AMP."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from secondpass.check import Settings, read

from .test_interpreter import codes


def found(folder: Path, text: str) -> list[tuple[str, str]]:
    """(code, text of the line that is pointed at) of all findings."""
    file = folder / "program.py"
    file.write_text(dedent(text), "utf-8")
    report = read([file], Settings(jobs=1))
    assert not report.notes
    lines = file.read_text("utf-8").splitlines()
    return [(f.code, lines[f.failed.line - 1].strip()) for f in report.findings if f.failed]


LIGHTNING = """
    import torch
    from torch import nn
    import {library} as pl

    class Forecaster(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(3, 3)
            self.state = torch.zeros(1, 3)
            self.outputs = []

        def training_step(self, batch, index):
            state = self.cell(torch.randn(1, 3), {before})
            self.state = state
            loss = state.pow(2).mean()
            self.outputs.append({kept})
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

        def on_train_epoch_end(self):
            {epoch}

    {end}
"""


@pytest.mark.parametrize("library", ["pytorch_lightning", "lightning", "lightning.pytorch"])
@pytest.mark.parametrize("end", ["", "pl.Trainer(max_epochs=2).fit(Forecaster(), None)"])
def test_lightning_trains_between_the_steps(tmp_path: Path, library: str, end: str) -> None:
    words = {"library": library, "end": end, "kept": "0", "epoch": "pass"}
    assert found(tmp_path, LIGHTNING.format(before="self.state", **words)) == [("SP103", "return loss")]
    assert found(tmp_path, LIGHTNING.format(before="self.state.detach()", **words)) == []


def test_lightning_modules_that_collect_losses(tmp_path: Path) -> None:
    words = {"library": "lightning", "before": "self.state.detach()", "end": ""}
    leak = LIGHTNING.format(kept="loss", epoch="pass", **words)
    assert found(tmp_path, leak) == [("SP401", "self.outputs.append(loss)")]
    assert found(tmp_path, LIGHTNING.format(kept="loss.item()", epoch="pass", **words)) == []
    assert found(tmp_path, LIGHTNING.format(kept="loss", epoch="self.outputs.clear()", **words)) == []


def test_lightning_by_hand(tmp_path: Path) -> None:
    program = """
        import lightning as L
        import torch
        from torch import nn

        class Gan(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.automatic_optimization = False
                self.generator, self.critic = nn.Linear(4, 4), nn.Linear(4, 1)

            def training_step(self, batch, index):
                opt_g, opt_c = self.optimizers()
                fake = self.generator(torch.randn(8, 4)).tanh()
                opt_c.zero_grad()
                self.manual_backward(self.critic({fake}).pow(2).mean())
                opt_c.step()
                opt_g.zero_grad()
                self.manual_backward(-self.critic(fake).mean())
                opt_g.step()

            def configure_optimizers(self):
                return torch.optim.Adam(self.generator.parameters()), torch.optim.Adam(self.critic.parameters())
    """
    line = "self.manual_backward(-self.critic(fake).mean())"
    assert found(tmp_path, program.format(fake="fake")) == [("SP106", line)]
    assert found(tmp_path, program.format(fake="fake.detach()")) == []


TRAINER = """
    import torch
    import torch.nn.functional as F
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    class Custom(Trainer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.previous = None
            self.running = 0.0
            self.history = []

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            logits = outputs["logits"]
            loss = F.cross_entropy(logits.view(-1, 10), labels.view(-1))
            {body}
            return (loss, outputs) if return_outputs else loss

    {end}
"""
RUN = """
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    Custom(model=model, args=TrainingArguments("out")).train()
""".strip()
RETURN = "return (loss, outputs) if return_outputs else loss"


@pytest.mark.parametrize("end", ["", RUN], ids=["class", "program"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", []),
        ("loss = loss if self.previous is None else loss + F.mse_loss(logits, self.previous)\n"
         "            self.previous = logits", [("SP103", RETURN)]),
        ("loss = loss if self.previous is None else loss + F.mse_loss(logits, self.previous)\n"
         "            self.previous = logits.detach()", []),
        ("self.running = 0.9 * self.running + 0.1 * loss\n            loss = self.running", [("SP103", RETURN)]),
        ("self.running = 0.9 * self.running + 0.1 * loss.item()", []),
        ("self.history.append(loss)", [("SP401", "self.history.append(loss)")]),
        ("self.history.append(loss.detach())", []),
    ],
    ids=["plain", "state", "state-detached", "loss-summed", "number-summed", "collected", "collected-detached"],
)  # fmt: skip
def test_compute_loss_is_called_once_per_pass(
    tmp_path: Path, body: str, expected: list[tuple[str, str]], end: str
) -> None:
    assert found(tmp_path, TRAINER.format(body=body, end=end)) == expected


def test_training_step_of_a_trainer(tmp_path: Path) -> None:
    program = """
        from transformers import Trainer

        class Twice(Trainer):
            def training_step(self, model, inputs, num_items_in_batch=None):
                loss = self.compute_loss(model, self._prepare_inputs(inputs))
                self.accelerator.backward(loss)
                {again}
                return loss.detach()
    """
    again = "self.accelerator.backward(loss)"
    assert found(tmp_path, program.format(again=again)) == [("SP101", again)]
    assert found(tmp_path, program.format(again="pass")) == []


def test_a_trainer_with_a_model_of_the_program(tmp_path: Path) -> None:
    program = """
        import torch
        from torch import nn
        from transformers import Trainer, TrainingArguments

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.head = nn.GRUCell(4, 8), nn.Linear(8, 2)
                self.memory = torch.zeros(1, 8)

            def forward(self, x, labels=None):
                self.memory = self.cell(x, self.memory{cut})
                return {{"loss": self.head(self.memory).pow(2).mean()}}

        class Plain(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False):
                return model(**inputs)["loss"]

        Plain(model=Net(), args=TrainingArguments("out")).train()
    """
    assert found(tmp_path, program.format(cut="")) == [("SP103", 'return model(**inputs)["loss"]')]
    assert found(tmp_path, program.format(cut=".detach()")) == []


@pytest.mark.parametrize(
    ("make", "act"),
    [
        ("from accelerate import Accelerator\nhelper = Accelerator()\nnet, opt = helper.prepare(net, opt)", "helper.backward({})"),
        ("from lightning.fabric import Fabric\nhelper = Fabric()\nnet, opt = helper.setup(net, opt)", "helper.backward({})"),
        ("import lightning as L\nhelper = L.Fabric()\nnet, opt = helper.setup(net, opt)", "helper.backward({})"),
        ("helper = torch.cuda.amp.GradScaler()", "helper.scale({}).backward()"),
        ("helper = torch.amp.GradScaler('cuda')", "helper.scale({}).backward()"),
    ],
    ids=["accelerate", "fabric", "lightning-fabric", "scaler-of-cuda", "scaler"],
)  # fmt: skip
def test_passes_that_helpers_make(tmp_path: Path, make: str, act: str) -> None:
    def program(text: str) -> str:
        head = (
            "import torch\nfrom torch import nn\nnet = nn.GRUCell(3, 3)\nopt = torch.optim.SGD(net.parameters(), 0.1)\n"
        )
        step = "helper.step(opt)" if "scale" in act else "opt.step()"
        return head + make + dedent(f"""
            h = torch.zeros(1, 3)
            for x in torch.randn(20, 1, 3):
                h = net(x, {text})
                opt.zero_grad()
                {act.format("h.pow(2).mean()")}
                {step}
        """)  # fmt: skip

    assert found(tmp_path, program("h")) == [("SP103", act.format("h.pow(2).mean()"))]
    assert found(tmp_path, program("h.detach()")) == []


HOOKED = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))
            self.stale = True
            {hook}

        def note(self, *args):
            self.stale = True

        def forward(self, x):
            if self.stale:
                self.weights = self.scale.exp()
                self.stale = False
            return (x * self.weights).sum()

    net = Net()
    for x in torch.randn(9, 3):
        net(x).backward()
"""


@pytest.mark.parametrize("hook", ["self.register_full_backward_hook(self.note)", "self.scale.register_hook(self.note)"])
def test_hooks_of_a_pass_are_called(tmp_path: Path, hook: str) -> None:
    assert found(tmp_path, HOOKED.format(hook=hook)) == []
    assert [code for code, _ in found(tmp_path, HOOKED.format(hook="pass"))] == ["SP102"]


def test_hooks_of_a_forward_are_called(tmp_path: Path) -> None:
    program = """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        seen = []
        handle = net[1].register_forward_hook(lambda module, given, made: seen.append({made}))
        {removed}
        for x in torch.randn(40, 4):
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()
    """
    assert [code for code, _ in found(tmp_path, program.format(made="made", removed=""))] == ["SP401"]
    assert found(tmp_path, program.format(made="made.detach()", removed="")) == []
    assert found(tmp_path, program.format(made="made", removed="handle.remove()")) == []


def test_lightning_makes_no_pass_where_the_module_makes_them(tmp_path: Path) -> None:
    body = """
    import torch
    import pytorch_lightning as pl

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch, index):
            loss = self.layer(batch).pow(2).mean()
            self.manual_backward(loss)
            {more}
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())
    """
    assert codes(tmp_path, body.format(more="pass"), "") == []
    assert codes(tmp_path, body.format(more="self.manual_backward(loss)"), "") == ["SP101"]


ACCUMULATED = """
    import torch
    from accelerate import Accelerator
    from torch import nn

    helper = Accelerator(gradient_accumulation_steps={steps})
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net, opt = helper.prepare(net, opt)
    for batch in range(100):
        with helper.accumulate(net):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            helper.backward(loss)
            if helper.sync_gradients:
                helper.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            {clear}
"""


@pytest.mark.parametrize("steps", [2, 4])
def test_accelerate_lets_steps_pass_by_until_gradients_are_gathered(tmp_path: Path, steps: int) -> None:
    assert found(tmp_path, ACCUMULATED.format(steps=steps, clear="net.zero_grad()")) == [("SP404", "net.zero_grad()")]


@pytest.mark.parametrize(
    ("steps", "clear"),
    [(4, "opt.zero_grad()"), (1, "net.zero_grad()"), (4, "if helper.sync_gradients: net.zero_grad()")],
)
def test_accelerate_clears_what_a_step_has_used(tmp_path: Path, steps: int, clear: str) -> None:
    assert found(tmp_path, ACCUMULATED.format(steps=steps, clear=clear)) == []


IGNITE = """
    import torch
    from ignite.engine import Engine, Events
    from torch import nn

    cell, head = nn.GRUCell(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    losses = []

    def learn(engine, batch):
        {before}
        opt.zero_grad()
        state = cell(batch, engine.state.memory)
        loss = head(state).pow(2).mean()
        loss.backward()
        opt.step()
        engine.state.memory = {kept}
        return {given}

    trainer = Engine(learn)

    @trainer.on(Events.STARTED)
    def begin(engine):
        engine.state.memory = torch.zeros(4, 3)

    {handlers}
    trainer.run([torch.randn(4, 3) for _ in range(20)], max_epochs=3)
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"kept": "state"}, [("SP103", "loss.backward()")]),
        ({"kept": "state.detach()"}, []),
        ({"kept": "state", "before": "engine.state.memory = engine.state.memory.detach()"}, []),
        ({"kept": "state", "event": "ITERATION_COMPLETED"}, []),
        ({"kept": "state", "event": "ITERATION_STARTED"}, []),
        ({"kept": "state", "event": "EPOCH_COMPLETED"}, [("SP103", "loss.backward()")]),
        ({"kept": "state", "event": "ITERATION_COMPLETED(every=2)"}, [("SP103", "loss.backward()")]),
        ({"kept": "state", "event": "ITERATION_STARTED | Events.EPOCH_STARTED"}, []),
    ],
)
def test_ignite_hands_its_state_from_batch_to_batch(tmp_path: Path, words: dict[str, str], expected: object) -> None:
    handler = """
    @trainer.on(Events.{})
    def cut(engine):
        engine.state.memory = engine.state.memory.detach()
"""
    event = words.pop("event", None)
    text = {"before": "pass", "given": "0", "handlers": handler.format(event) if event else "", **words}
    assert found(tmp_path, IGNITE.format(**text)) == expected


@pytest.mark.parametrize(
    ("given", "handler", "expected"),
    [
        ("loss", "lambda e: losses.append(e.state.output)", [("SP401", "losses.append(e.state.output)")]),
        ("loss.item()", "lambda e: losses.append(e.state.output)", []),
        ("loss", "lambda e: losses.append(e.state.output.detach())", []),
    ],
)
def test_ignite_gives_its_handlers_what_the_function_gave(
    tmp_path: Path, given: str, handler: str, expected: list[object]
) -> None:
    line = f"trainer.add_event_handler(Events.ITERATION_COMPLETED, {handler})"
    text = IGNITE.format(before="pass", kept="state.detach()", given=given, handlers=line)
    assert [c for c, _ in found(tmp_path, text)] == [c for c, _ in expected]  # type: ignore[misc]


CALLBACKS = """
    import lightning as L
    import torch
    from torch import nn

    class Coder(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 3)

        def training_step(self, batch, index):
            return self.net(torch.randn(4, 3)).pow(2).mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    class Film({base}):
        def __init__(self):
            self.frames = []

        def {hook}:
            {body}

    film = Film()
    L.Trainer(max_epochs=2, callbacks={given}).fit(Coder(), None)
"""
_END = "on_train_batch_end(self, trainer, module, outputs, batch, index)"
_KEEP = "self.frames.append(module.net(torch.ones(3)).tanh())"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"body": _KEEP}, ["SP401"]),
        ({"body": f"if trainer.global_step % 2 == 0: {_KEEP}"}, ["SP401"]),
        ({"body": _KEEP, "given": "film", "base": "L.pytorch.callbacks.Callback"}, ["SP401"]),
        ({"body": _KEEP.replace("tanh()", "detach()")}, []),
        ({"body": 'self.frames.append(outputs["loss"])'}, []),
        ({"body": "self.frames.append(loss)", "hook": "on_before_backward(self, trainer, module, loss)"}, ["SP401"]),
        ({"body": f"{_KEEP}\n            self.frames = self.frames[-3:]"}, []),
        ({"body": _KEEP, "given": "[]"}, []),
    ],
)
def test_lightning_calls_the_hooks_of_callbacks(tmp_path: Path, words: dict[str, str], expected: list[str]) -> None:
    text = CALLBACKS.format(**{"base": "L.Callback", "hook": _END, "given": "[film]", **words})
    assert [code for code, _ in found(tmp_path, text)] == expected


PREPARED = """
    import torch
    from transformers import AutoModelForCausalLM, Trainer

    class Buffered(Trainer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.count, self.buffer = 0, None

        def _prepare_inputs(self, inputs):
            inputs = super()._prepare_inputs(inputs)
            if self.count % 2 == 0:
                self.buffer = {kept}
            self.count += 1
            return {{"old": self.buffer, "ids": inputs["ids"]}}

        def compute_loss(self, model, inputs, return_outputs=False):
            now = model(input_ids=inputs["ids"]).logits
            return (now - inputs["old"]).pow(2).mean()

    {end}
"""


@pytest.mark.parametrize("end", ["", 'Buffered(model=AutoModelForCausalLM.from_pretrained("gpt2")).train()'])
def test_the_trainer_asks_for_its_inputs(tmp_path: Path, end: str) -> None:
    kept = 'self.model(input_ids=inputs["ids"]).logits'
    assert len(found(tmp_path, PREPARED.format(kept=kept, end=end))) == 1
    assert found(tmp_path, PREPARED.format(kept=f"{kept}.detach()", end=end)) == []


ENCLOSED = """
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 3))
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range({depth}))

        def forward(self, x):
            shift = self.table(torch.ones(1)).sigmoid(){cut}
            self.shift = shift
            x = torch.tanh(self.layers[0](x))
            for layer in self.layers:
                {block}
            return x

    net = Stack()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(10):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
_INSIDE = "x = checkpoint(lambda h, layer=layer: torch.tanh(layer(h) * shift), x, use_reentrant={})"


@pytest.mark.parametrize(
    ("block", "depth", "cut", "expected"),
    [
        (_INSIDE.format(True), 3, "", ["SP108"]),
        (_INSIDE.format(True).replace("* shift", "* self.shift"), 3, "", ["SP108"]),
        (_INSIDE.format(False), 3, "", []),
        (_INSIDE.format(True), 3, ".detach()", ["SP406"]),  # nothing is freed twice; nothing trains the table
        (_INSIDE.format(True), 1, "", []),
        ("x = checkpoint(lambda h, s, layer=layer: layer(h) * s, x, shift, use_reentrant=True)", 3, "", []),
        (
            "x = checkpoint(lambda h, layer=layer: layer(h) * self.layers[0].weight.sum(), x, use_reentrant=True)",
            3,
            "",
            [],
        ),
    ],
)
def test_reentrant_checkpoints_free_what_comes_in_by_another_way(
    tmp_path: Path, block: str, depth: int, cut: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, ENCLOSED.format(block=block, depth=depth, cut=cut))] == expected
