# SPDX-License-Identifier: BSD-3-Clause
"""Networks that are not read: what a library made, an argument, a factory; and when they are none."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read
from secondpass.remedies import attach

from .test_interpreter import codes

MADE = """
    import torch
    import torch.nn.functional as F
    {head}
    def learn(batches{more}):
        {made}
        for x, y in batches:
            loss = {loss}
            {clear}.zero_grad()
            loss.backward({how})
            {clear}.step()
"""


def found(tmp_path: Path, **parts: str) -> list[str]:
    given = {"head": "pass", "more": "", "made": "pass", "clear": "rule", "how": "retain_graph=True"} | parts
    return codes(tmp_path, MADE.format(**given), "")


@pytest.mark.parametrize(
    ("head", "made", "loss"),
    [
        ("from elsewhere import Big", "thing = Big.load('x')", "F.cross_entropy(thing(x).logits, y)"),
        ("from elsewhere import Big", "thing = Big.load('x').to('cuda')", "F.cross_entropy(thing(x)['logits'], y)"),
        ("from elsewhere import build", "thing = build({'depth': 3})", "F.mse_loss(thing(x), y)"),
        ("import elsewhere", "thing = elsewhere.registry['big'](3)", "thing(x, labels=y).loss"),
        ("import elsewhere", "thing = torch.hub.load('a', 'b')", "(thing(x) - y).pow(2).mean()"),
    ],
)
def test_what_a_library_made_is_one_node(tmp_path: Path, head: str, made: str, loss: str) -> None:
    made += "; rule = torch.optim.Adam(thing.parameters())"
    assert found(tmp_path, head=head, made=made, loss=loss) == ["SP402"]
    assert found(tmp_path, head=head, made=made, loss=loss, how="") == []


@pytest.mark.parametrize(
    "made",
    [
        "thing = build(3).cuda(); rule = build_rule(thing)",
        "thing = elsewhere.settings.model.build(); thing = thing.to('cuda'); rule = build_rule(thing.parameters())",
    ],
)
def test_what_a_factory_made_goes_to_an_optimizer_of_a_factory(tmp_path: Path, made: str) -> None:
    head = "import elsewhere; from elsewhere import build, build_rule"
    assert found(tmp_path, head=head, made=made, loss="F.mse_loss(thing(x), y)") == ["SP402"]
    assert found(tmp_path, head=head, made=made, loss="F.mse_loss(thing(x), y)", how="") == []


@pytest.mark.parametrize(
    ("more", "loss"),
    [
        (", thing, rule", "F.cross_entropy(thing(x), y)"),
        (", thing, rule, measure", "measure(thing(x), y)"),
        (", thing, *, rule", "thing(x).mean()"),
    ],
)
def test_an_argument_that_is_called_with_data_keeps_no_graph(tmp_path: Path, more: str, loss: str) -> None:
    assert found(tmp_path, more=more, loss=loss) == ["SP402"]


@pytest.mark.parametrize(
    ("head", "more", "loss"),
    [
        ("from elsewhere import evaluate", ", thing, rule", "evaluate(thing, x, y)"),
        ("from elsewhere import evaluate", ", thing, rule", "F.mse_loss(evaluate(x), y)"),
        ("pass", ", thing, rule", "thing.criterion(x, y)"),
        ("pass", ", thing, rule", "thing()"),
        ("pass", ", thing, other, rule", "thing(other.parameters())"),
        ("pass", ", thing, rule", "thing(lambda: x)"),
    ],
)
def test_what_code_that_is_not_read_keeps_cannot_be_told(tmp_path: Path, head: str, more: str, loss: str) -> None:
    assert found(tmp_path, head=head, more=more, loss=loss) == []


def test_a_thing_made_of_a_graph_may_keep_it(tmp_path: Path) -> None:
    head = "from elsewhere import Measure\n    w = torch.ones(3, requires_grad=True)"
    made = "thing = Measure(w.exp()); rule = torch.optim.Adam([w])"
    assert found(tmp_path, head=head, made=made, loss="thing(x)") == []
    made = "thing = Measure(3); rule = torch.optim.Adam([w])"
    assert found(tmp_path, head=head, made=made, loss="thing(w * x)") == ["SP402"]


CARRIED = """
    import torch
    import torch.nn.functional as F
    def learn(batches, thing, rule, other):
        state = torch.zeros(1, 4, 8)
        for x, y in batches:
            {step}
            loss = F.cross_entropy(out, y)
            rule.zero_grad()
            loss.backward()
            rule.step()
            {after}
"""


@pytest.mark.parametrize(
    ("step", "after", "expected"),
    [
        ("out, state = thing(x, state)", "pass", ["SP103"]),
        ("gave = thing(x, state); out, state = gave.first, gave.second", "pass", ["SP103"]),
        ("gave = thing(x, state); out, state = gave[0], gave[1]", "pass", ["SP103"]),
        ("state = thing(x, state); out = state.view(4, 8)", "pass", ["SP103"]),
        ("out, state = thing(x, state)", "state = state.detach()", []),
        ("out, state = thing(x, state)", "state = state.data", []),
        ("out, state = thing(x, state.detach())", "pass", []),
        ("out, state = thing(x, state)", "state = torch.zeros(1, 4, 8)", []),
        ("out, state = thing(x, other(state))", "pass", []),
        ("out = thing(x, state); state = other(state, out)", "pass", []),
    ],
)
def test_state_is_carried_through_the_network_that_a_pass_must_have_walked(
    tmp_path: Path, step: str, after: str, expected: list[str]
) -> None:
    assert codes(tmp_path, CARRIED.format(step=step, after=after), "") == expected


PLAYERS = """
    import torch
    from torch import nn, optim
    class Pair:
        def __init__(self, one, two, kind=optim.Adam):
            self.one, self.two = one, two
            self.rule_one = kind(self.one.parameters(), lr=0.1)
            self.rule_two = kind(self.two.parameters(), lr=0.1)
        def learn(self, batch):
            x, y = batch["x"], batch["y"]
            first = -self.two(x, {given}).mean()
            second = nn.functional.mse_loss(self.two(x, y), batch["z"])
            self.rule_two.zero_grad()
            second.backward()
            {early}
            self.rule_one.zero_grad()
            first.backward()
            self.rule_one.step()
            {late}
"""


@pytest.mark.parametrize(
    ("given", "early", "late", "expected"),
    [
        ("self.one(x)", "self.rule_two.step()", "pass", ["SP201"]),
        ("self.one(x)", "pass", "self.rule_two.step()", []),
        ("self.one(x)", "self.two.load_state_dict(torch.load('x'))", "pass", []),
    ],
)
def test_a_step_changes_what_a_network_has_saved(
    tmp_path: Path, given: str, early: str, late: str, expected: list[str]
) -> None:
    assert codes(tmp_path, PLAYERS.format(given=given, early=early, late=late), "") == expected


def test_a_layer_over_plain_inputs_need_not_have_saved_its_weight(tmp_path: Path) -> None:
    body = """
        import torch
        from elsewhere import Big
        thing = Big(3)
        rule = torch.optim.SGD(thing.parameters(), lr=0.1)
        def learn(x):
            first, second = thing(x).mean(), thing(x).mean()
            rule.zero_grad()
            first.backward()
            rule.step()
            rule.zero_grad()
            second.backward()
            rule.step()
        for x in torch.randn(9, 4, 3):
            learn(x)
    """
    (tmp_path / "main.py").write_text(textwrap.dedent(body))
    report = read([tmp_path / "main.py"], Settings(jobs=1))
    # The gradient is that of the old parameters; that the pass fails is not certain.
    assert [(f.code, f.severity) for f in report.findings] == [("SP201", "warning")]


def test_a_copy_of_a_network_is_another_one(tmp_path: Path) -> None:
    body = """
        import copy, torch
        from elsewhere import Big
        def learn(batches):
            thing = Big(3)
            {made}
            rule = torch.optim.SGD(thing.parameters(), lr=0.1)
            rule_two = torch.optim.SGD(two.parameters(), lr=0.1)
            start = torch.ones(3, requires_grad=True)
            for x in batches:
                first = two(thing(x) + start).mean()
                second = thing(two(x) * 2).mean()
                rule_two.zero_grad()
                second.backward()
                rule_two.step()
                rule.zero_grad()
                {then}
                rule.step()
    """
    assert codes(tmp_path, body.format(made="two = copy.deepcopy(thing)", then="first.backward()"), "") == ["SP201"]
    assert codes(tmp_path, body.format(made="two = copy.deepcopy(thing)", then="pass"), "") != ["SP201"]


OWN = """
    import torch, pytorch_lightning as pl
    from torch import nn
    class Part(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 1)
            {mode}
        def training_step(self, batch, i):
            return self.net(batch).pow(2).mean()
        def backward(self, {names}):
            {act}
        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())
"""


@pytest.mark.parametrize(
    ("mode", "names", "act", "expected"),
    [
        ("pass", "value", "value.backward(retain_graph=True)", ["SP402"]),
        ("pass", "value, *args, **kwargs", "super().backward(value, retain_graph=True)", ["SP402"]),
        ("pass", "value, rule, number", "value.backward(retain_graph=True)", ["SP402"]),
        ("pass", "owner, value, rule, number", "value.backward(retain_graph=True)", ["SP402"]),
        ("pass", "value", "value.backward()", []),
        ("self.automatic_optimization = False", "value", "value.backward(retain_graph=True)", []),
    ],
)
def test_lightning_makes_its_pass_as_the_module_says(
    tmp_path: Path, mode: str, names: str, act: str, expected: list[str]
) -> None:
    assert codes(tmp_path, OWN.format(mode=mode, names=names, act=act), "") == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("'h' in locals()", ["SP103"]),
        ("'h' not in locals()", []),
        ("locals().get('h') is not None", ["SP103"]),
        ("'other' in locals()", []),
    ],
)
def test_locals_are_the_names_of_the_function(tmp_path: Path, test: str, expected: list[str]) -> None:
    body = f"""
        def learn():
            for x in torch.randn(9, 1, 3):
                if {test}:
                    given = h
                else:
                    given = torch.zeros(1, 3)
                h = torch.tanh(net(x) + given)
                opt.zero_grad()
                h.sum().backward()
                opt.step()
        learn()
    """
    assert codes(tmp_path, body) == expected


def test_what_rests_on_the_inside_of_a_network_is_likely_and_not_repaired_unasked(tmp_path: Path) -> None:
    text = """
        import torch

        def train(model, optimizer, loader):
            state = torch.zeros(1, 4, 8)
            for x, y in loader:
                out, state = model(x, state)
                loss = torch.nn.functional.cross_entropy(out, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(text))
    [finding] = read([tmp_path], Settings(jobs=1)).findings
    assert (finding.code, finding.sure) == ("SP103", False)
    repaired = attach(finding, sources={finding.failed.file: textwrap.dedent(text)})
    assert repaired.remedies[0].edits
    assert not repaired.remedies[0].safe


@pytest.mark.parametrize("freeze", ["p.requires_grad = False", "p.requires_grad_(False)"])
@pytest.mark.parametrize("what", ["Big.load('x')", "Big.load('x').trunk"])
def test_a_frozen_network_hands_on_the_history_of_what_goes_in(tmp_path: Path, freeze: str, what: str) -> None:
    made = f"""eye = {what}.eval()
        for p in eye.parameters():
            {freeze}
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        rule = torch.optim.Adam(net.parameters())"""
    parts = {"head": "from elsewhere import Big", "made": made}
    assert found(tmp_path, **parts, loss="F.mse_loss(eye(net(x)), y)", clear="rule", how="") == []
    assert found(tmp_path, **parts, loss="F.mse_loss(eye(net(x)), y)", clear="rule") == ["SP402"]
    lost = MADE.replace("{clear}.zero_grad()", "pass").format(
        more="", clear="rule", how="", loss="F.mse_loss(eye(net(x)), y)", **parts
    )
    assert codes(tmp_path, lost, "") == ["SP403"]
    # What it computes of plain data has no history, and its own parameters get no gradient.
    assert codes(tmp_path, lost.replace("eye(net(x))", "eye(x)"), "") == []


def test_forward_of_a_network_is_its_call(tmp_path: Path) -> None:
    parts = {"more": ", net", "made": "rule = torch.optim.Adam(net.parameters())"}
    assert found(tmp_path, **parts, loss="F.mse_loss(net.forward(x), y)") == ["SP402"]
    assert found(tmp_path, **parts, loss="F.mse_loss(net.score(x), y)") == []


@pytest.mark.parametrize(
    ("head", "layer", "use"),
    [
        ("from einops import rearrange", "torch.nn.Identity()", "rearrange(net(x), 'b c -> (b c)')"),
        ("from einops.layers.torch import Rearrange", "Rearrange('b c -> (b c)')", "net(x)"),
        ("from torch_scatter import scatter_mean", "torch.nn.Identity()", "scatter_mean(net(x), y)"),
    ],
)
def test_functions_of_libraries_that_compute_hand_on_history(tmp_path: Path, head: str, layer: str, use: str) -> None:
    made = f"""net = torch.nn.Sequential(torch.nn.Linear(3, 3), {layer}, torch.nn.Tanh())
        rule = torch.optim.Adam(net.parameters())"""
    told = MADE.replace("{clear}.zero_grad()", "pass").format(
        head=head, more="", made=made, loss=f"F.mse_loss({use}, y)", clear="rule", how=""
    )
    assert codes(tmp_path, told, "") == ["SP403"]
    # Under no_grad they record nothing.
    assert found(tmp_path, head=head, made=made, loss=f"torch.no_grad()(lambda: {use})() + net(x).mean()", how="") == []


@pytest.mark.parametrize(("extra", "found"), [("0", ["SP404"]), ("far(y, x)", ["SP404"]), ("far.change(y, x)", [])])
def test_a_value_that_was_given_leads_to_what_went_in(tmp_path: Path, extra: str, found: list[str]) -> None:
    body = f"""
    import torch
    from elsewhere import Distance
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    far = Distance("x")
    rule = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for i, x in enumerate(torch.utils.data.DataLoader([])):
            y = net(x)
            loss = y.mean() + {extra}
            rule.zero_grad()
            loss.backward()
            if (i + 1) % 2 == 0:
                rule.step()
    """
    assert codes(tmp_path, body, "") == found


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("criterion(net(x), y)", ["SP403"]),
        ("criterion(net(x), y).mean() / 4", ["SP403"]),
        ("criterion(net(x), net(y))", ["SP403"]),
        ("criterion(net(x), other(y))", []),  # which of the two it leaves out cannot be told
        ("criterion(net(x), library.features(other(y)))", []),
        ("losses.of(net(x), y)", []),  # a method may do anything
        ("2 * criterion(net(x), y) + 1", ["SP403"]),
        ("criterion(net(x), y) + other(x).sum()", []),
    ],
)
@pytest.mark.parametrize("made", ["nn.Linear(3, 3)", "library.build('net')"])
def test_a_loss_that_is_not_read_is_walked_to_the_network_that_went_in(
    tmp_path: Path, made: str, loss: str, found: list[str]
) -> None:
    body = f"""
    import torch
    from torch import nn
    import library

    net, other = {made}, library.build("other")
    criterion, losses = library.Distance(), library.losses
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    both = torch.optim.SGD(other.parameters(), lr=0.1)
    for x, y in library.batches(8):
        loss = {loss}
        both.zero_grad()
        loss.backward()
        opt.step()
    """
    assert codes(tmp_path, body, "") == found


@pytest.mark.parametrize(
    ("owned", "found"), [("[p for n in nets for p in n.parameters()]", ["SP406"]), ("params.values()", [])]
)
def test_stacked_parameters_are_leaves_of_their_own(tmp_path: Path, owned: str, found: list[str]) -> None:
    body = f"""
        from torch.func import functional_call, stack_module_state, vmap
        nets = [nn.Linear(3, 1) for _ in range(4)]
        params, buffers = stack_module_state(nets)
        rule = torch.optim.SGD({owned}, lr=0.1)
        def single(params, buffers, x):
            return functional_call(nets[0], (params, buffers), (x,))
        for x in torch.randn(9, 2, 3):
            rule.zero_grad()
            vmap(single, in_dims=(0, 0, None))(params, buffers, x).pow(2).sum().backward()
            rule.step()
    """
    assert codes(tmp_path, body, "import torch\nfrom torch import nn\n") == found
