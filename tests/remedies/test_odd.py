# SPDX-License-Identifier: BSD-3-Clause
"""Odd formatting: decorators, nested functions, tabs, several statements on a line, no newline at the end."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import attach
from secondpass.remedies.edit.patch import apply_edits
from secondpass.remedies.find.project import Project


def repaired(text: str, kind: str, cause: str, name: str, facts: dict[str, Any] | None = None, **lines: int) -> str:
    """The text after the first remedy; places are found by what their line contains."""
    places = {what: Place("main.py", line) for what, line in lines.items()}
    remedy = Remedy(kind, kind, target=name, place=places.get("failed"))
    given = Finding(
        "SP", cause, "error", "", places.get("failed"), Carrier(name) if name else None, places.get("built"),
        places.get("freed"), places.get("failed"), remedies=(remedy,), facts=facts or {},
    )  # fmt: skip
    return apply_edits(text, list(attach(given, sources={"main.py": text}).remedies[0].edits))


def source(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_tabs_and_no_newline_at_the_end() -> None:
    text = "h = z()\nfor x in xs:\n\th = cell(x, h)\n\tloss = f(h)\n\tloss.backward()"
    assert repaired(text, "detach", "carried-state", "h", failed=5, freed=5, built=3) == text + "\n\th = h.detach()"


def test_decorated_method_and_nested_function() -> None:
    text = source(
        """
        class T:
            @timed("step",
                   log=True)
            def fit(self, xs):
                def one(x):  # a step
                    self.h = self.cell(x, self.h)
                    loss = self.out(self.h).mean()
                    loss.backward()
                for x in xs:
                    one(x)
        """
    )
    got = repaired(text, "detach", "carried-state", "self.h", failed=8, freed=8, built=6)
    assert got == text + "            self.h = self.h.detach()\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss.backward(retain_graph=True)", "loss.backward()"),
        ("loss.backward(None, True)", "loss.backward(None, False)"),
        ("loss.backward( retain_graph = True )", "loss.backward(  )"),
        ("loss.backward(retain_graph=True, inputs=ps)", "loss.backward(inputs=ps)"),
        ("loss.backward(gradient=g, retain_graph=True)", "loss.backward(gradient=g)"),
        ("loss.backward(\n    gradient=g,\n    retain_graph=True,\n)", "loss.backward(\n    gradient=g,\n)"),
        ("torch.autograd.backward([a, b], retain_graph=True)", "torch.autograd.backward([a, b])"),
        ("if ok: loss.backward(retain_graph=True)  # keep", "if ok: loss.backward()  # keep"),
    ],
)
def test_drop_retain(old: str, new: str) -> None:
    assert repaired(old + "\n", "drop-retain", "needless-retain", "", failed=1) == new + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("g = grad(y, x)", "g = grad(y, x, create_graph=True)"),
        (
            "g, = torch.autograd.grad(y.sum(), x, create_graph=False)",
            "g, = torch.autograd.grad(y.sum(), x, create_graph=True)",
        ),
        (
            "g = [a * 2 for a in torch.autograd.grad(y, xs)]",
            "g = [a * 2 for a in torch.autograd.grad(y, xs, create_graph=True)]",
        ),
        ("g = autograd.grad(\n    y,\n    x,\n)[0]", "g = autograd.grad(\n    y,\n    x, create_graph=True,\n)[0]"),
    ],
)
def test_create_graph(old: str, new: str) -> None:
    assert repaired(old + "\n", "create-graph", "missing-create-graph", "g", failed=1, built=1) == new + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("losses.append(loss)", "losses.append(loss.item())"),
        ("losses.append(a + b)", "losses.append((a + b).item())"),
        ("self.log['x'].append(crit(\n    net(x), y))", "self.log['x'].append(crit(\n    net(x), y).item())"),
        ("losses += [loss]", "losses += [loss.item()]"),
        ("losses = losses + [loss]", "losses = losses + [loss.item()]"),
    ],
)
def test_item(old: str, new: str) -> None:
    setup = "import torch\nnet = torch.nn.Linear(1, 1)\nloss = net(x)\na = b = net(x)\n"
    name = "self.log[...]" if "log" in old else "losses"
    assert repaired(setup + old + "\n", "item", "graph-leak", name, failed=5) == setup + new + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x *= a + b", "x = x * (a + b)"),
        ("x -= a - b", "x = x - (a - b)"),
        ("x.relu_()", "x = x.relu()"),
        ("x.add_(y).mul_(2)", "x = x.add(y).mul(2)"),
        ("self.x.clamp_(min=0)  # positive", "self.x = self.x.clamp(min=0)  # positive"),
        ("x[:, 0].exp_()", "x[:, 0] = x[:, 0].exp()"),
        ("y = F.relu(x, inplace=True)", "y = F.relu(x)"),
    ],
)
def test_clone(old: str, new: str) -> None:
    name = "self.x" if "self" in old else "x"
    assert repaired(old + "\n", "clone", "inplace-change", name, failed=1, freed=1) == new + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss = crit(out.detach(), y)", "loss = crit(out, y)"),
        ("loss = crit(out.data, y)", "loss = crit(out, y)"),
        ("loss = torch.tensor(crit(out, y), requires_grad=True)", "loss = crit(out, y)"),
        ("loss = torch.tensor([a.item(), b.item()]).sum()", "loss = torch.stack([a, b]).sum()"),
        ("mask = (prob > 0.5).float()", "mask = prob"),
        ("loss = Variable(loss.data, requires_grad=True)\nx = 1", "x = 1"),
    ],
)
def test_keep_history(old: str, new: str) -> None:
    assert repaired(old + "\n", "keep-history", "lost-history", "loss", failed=1, built=1) == new + "\n"


def test_several_losses_keep_their_weights_and_their_log() -> None:
    text = source(
        """
        for x in xs:
            z = enc(x)
            rec = (dec(z) - x).abs().mean()
            (2 * rec).backward()
            log(rec.item())
            kl = z.pow(2).mean() if beta else zero
            (beta * kl).backward()
            opt.step()
        """
    )
    got = repaired(text, "combine-losses", "shared-forward", "z", failed=7, freed=4, built=2)
    assert got == text.replace("    (2 * rec).backward()\n", "").replace("(beta * kl)", "((2 * rec) + (beta * kl))")


def test_a_frameworks_loop_is_not_cut_behind() -> None:
    text = source(
        """
        class Smooth(Callback):
            center = None

            def on_batch(self, net, batch):
                new = net.body(batch).mean(0)
                self.center = new if self.center is None else 0.9 * self.center + 0.1 * new
                net.center = self.center

        callbacks = [Smooth()]
        Trainer(callbacks=callbacks).fit(
            Net(), data)
        """
    )
    stack = [{"file": "main.py", "line": 10, "function": "<module>"}]
    ways = [["item", "0", "Smooth"], ["attribute", "center", "Tensor"]]
    path = {"root": "callbacks", "scope": "global", "type": "list", "ways": ways, "function": "<module>"}
    facts = {"freed_stack": stack, "used_stack": stack, "paths": [path]}
    lines = {"failed": 10, "freed": 10, "built": 5}
    late = repaired(text, "detach", "carried-state", "self.center", facts, **lines)
    assert late.startswith(text)  # for all that is known, what was called may come back
    facts["under_way"] = [{"file": "main.py", "line": 10}]
    cut = "        if self.center is not None:\n            self.center = self.center.detach()\n"
    head = text.index("        new =")
    assert repaired(text, "detach", "carried-state", "self.center", facts, **lines) == text[:head] + cut + text[head:]


@pytest.mark.parametrize(
    ("lines", "stepped"),
    [
        (["apple = make(net)", "apple.zero_grad()", "apple.step()"], "apple"),
        (["pear = make(net)", "pear.zero_grad()", "plum = fade(pear, 3)", "plum.step()"], None),
        (["pear = make(net)", "pear.zero_grad()", "fig.step(pear)"], "pear"),
        (["def work():", "    return 1", "apple.step(work)"], "apple"),
        (["world.step(move)"], None),
        (["env_optimizer.zero_grad()", "env_optimizer.step()"], "env_optimizer"),
    ],
)
def test_an_optimizer_is_told_by_what_is_done_with_it(lines: list[str], stepped: str | None) -> None:
    project = Project(None, {"main.py": "\n".join(lines) + "\n"})
    source = project.source("main.py")
    assert source is not None
    assert project.optimizer_of(source.module.body[-1]) == stepped


@pytest.mark.parametrize(
    ("given", "cut", "written"),
    [
        ("model.parameters()", "self.encoder(x).detach()", False),
        ("[*encoder.parameters(), *model.head.parameters()]", "self.encoder(x).detach()", True),
        ("model.encoder.parameters()", "self.encoder(x).detach()", True),
        ("model.parameters()", "torch.tensor(self.encoder(x))", True),
    ],
)
def test_a_part_of_a_whole_network_may_be_cut_off_on_purpose(given: str, cut: str, written: bool) -> None:
    text = f"""class Net(nn.Module):
    def forward(self, x):
        z = {cut}
        return self.head(z)


model = Net()
opt = torch.optim.Adam({given})
"""
    kind = "detach" if "detach" in cut else "wrapped"
    made = {"file": "main.py", "line": 8, "function": ""}
    place, carrier = Place("main.py", 3, "forward"), Carrier("model.encoder", "attribute")
    keep = Remedy("keep-history", "", target="model.encoder", place=place)
    finding = Finding(
        "SP406",
        "unreached-parameter",
        "warning",
        "m",
        place,
        carrier,
        place,
        remedies=(keep,),
        facts={"cut": kind, "made": made},
    )
    found = attach(finding, sources={"main.py": text}).remedies[0]
    assert bool(found.edits) == written


def test_what_was_seen_to_step_is_an_optimizer_whatever_made_it() -> None:
    project = Project(None, {"main.py": "mover = rule_for(net.parameters())\nview = rule_for(net.parameters())\n"})
    project.open(Finding("SP", "step-between", "error", "", Place("main.py", 1), facts={"owners": ["mover"]}))
    assert project.optimizers == {"mover": {"net"}}
