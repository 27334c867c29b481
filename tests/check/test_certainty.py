# SPDX-License-Identifier: BSD-3-Clause
"""What must be known before anything is said: programs that differ in one fact, and what that fact decides."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read

from .test_interpreter import HEAD, codes

THROUGH_A_GRADIENT = """
    import torch
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(2.0, requires_grad=True)
    ((1 - a) ** 2).backward(create_graph={create})
    one, two = a - 0.1 * {gradient}, b - 0.1 * {gradient}
    a.grad = None
    ((1 - one) ** 2).backward({first})
    ((1 - two) ** 2).backward({second})
"""


@pytest.mark.parametrize(
    ("create", "gradient", "first", "second", "found"),
    [
        (True, "a.grad", "retain_graph=True", "", []),
        (True, "a.grad.clone()", "retain_graph=True", "", []),
        (True, "a.grad", "retain_graph=True", "retain_graph=True", ["SP402"]),
        (True, "a.grad", "", "", ["SP102"]),
        (True, "a.grad.detach()", "retain_graph=True", "", ["SP402"]),
        (False, "a.grad", "retain_graph=True", "", ["SP402"]),
    ],
)
def test_a_gradient_made_with_create_graph_has_history(
    tmp_path: Path, create: bool, gradient: str, first: str, second: str, found: list[str]
) -> None:
    body = THROUGH_A_GRADIENT.format(create=create, gradient=gradient, first=first, second=second)
    assert codes(tmp_path, body, "") == found


def test_a_later_pass_adds_to_a_gradient_that_keeps_its_history(tmp_path: Path) -> None:
    body = """
        import torch
        a = torch.tensor(2.0, requires_grad=True)
        (a ** 3).backward(create_graph=True)
        (a ** 2).backward()
        one, two = a.grad * 2, a.grad * 3
        a.grad = None
        one.backward(retain_graph=True)
        two.backward()
    """
    assert codes(tmp_path, body, "") == []


REWRAPPED = """
    from torch.autograd import Variable
    other = nn.Linear(3, 3)
    opt_other = torch.optim.SGD(other.parameters(), lr=0.1)
    for x in torch.randn(9, 4, 3):
        made = other(x).exp()
        opt.zero_grad()
        net({given}).exp().mean().backward()
        opt.step()
        opt_other.zero_grad()
        made.mean().backward()
        opt_other.step()
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("made", ["SP106"]),
        ("made.detach()", []),
        ("Variable(made, requires_grad=True)", []),
        ("Variable(0.5 * made, True)", []),
        ("Variable(made)", []),
        ("torch.autograd.Variable(data=made, requires_grad=False)", []),
    ],
)
def test_a_variable_is_a_new_leaf(tmp_path: Path, given: str, found: list[str]) -> None:
    assert codes(tmp_path, REWRAPPED.format(given=given)) == found


def test_a_loss_in_a_variable_has_lost_its_history(tmp_path: Path) -> None:
    body = """
        from torch.autograd import Variable
        for x in torch.randn(9, 4, 3):
            loss = Variable(net(x).pow(2).mean())
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP301"]


EIGHT = """
    import torch
    def leaf():
        return torch.randn(3, requires_grad=True)
    held = [leaf(), leaf(), leaf(), leaf(), leaf(), leaf(), leaf(), leaf()]
    named = dict(zip("abcdefgh", held))
    class Box:
        def __init__(self, held):
            self.weight = held
    boxes = [Box(t) for t in held]
    solver = torch.optim.SGD(held, lr=0.1)
    for turn in range(1000):
        loss = sum(t.pow(2).sum() for t in held)
        loss.backward()
        solver.step()
        for {what}:
            {act}
"""


@pytest.mark.parametrize(
    ("what", "act", "found"),
    [
        ("t in held", "t.grad = None", []),
        ("t in held", "t.grad.zero_()", []),
        ("name, t in named.items()", "t.grad = None", []),
        ("i in range(len(held))", "held[i].grad = None", []),
        ("i in range(8)", "held[i].grad.data.zero_()", []),
        ("box in boxes", "box.weight.grad = None", []),
        ("name in list(named)", "named[name].grad = None", []),
        ("t in held[:4]", "t.grad = None", ["SP403"]),
        ("i in range(8)", "held[0].grad = None", ["SP403"]),
        ("t in held", "t.grad", ["SP403"]),
    ],
)
def test_a_list_of_known_length_is_walked_to_its_end(tmp_path: Path, what: str, act: str, found: list[str]) -> None:
    assert codes(tmp_path, EIGHT.format(what=what, act=act), "") == found


PARTNER = """
    from elsewhere import fetch
    for x in torch.randn(9, 4, 3):
        made = net(x).{op}
        partner = {partner}
        loss = ({product}).mean()
        made += 1
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("op", "partner", "product", "found"),
    [
        ("pow(2)", "fetch(x)", "made * partner", []),
        ("pow(2)", "fetch(x)", "torch.mul(partner, made)", []),
        ("pow(2)", "fetch(x)", "made / partner", []),
        ("pow(2)", "torch.ones(3)", "made * partner", []),
        ("pow(2)", "torch.ones(3, requires_grad=True)", "made * partner", ["SP202"]),
        ("exp()", "fetch(x)", "made * partner", ["SP202"]),
        ("pow(2)", "fetch(x)", "made * made", ["SP202"]),
    ],
)
def test_an_unknown_partner_may_not_have_been_worth_saving(
    tmp_path: Path, op: str, partner: str, product: str, found: list[str]
) -> None:
    assert codes(tmp_path, PARTNER.format(op=op, partner=partner, product=product)) == found


PAIRS = """
    for x in torch.randn(9, 4, 3):
        value = net(x)
        parts = {{}}
        parts.update({given})
        total = torch.tensor(0.0)
        for _, part in parts.items():
            total = total + part
        opt.zero_grad()
        total.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ('[("size", value.mean()), ("hits", (value <= 0).float().mean())]', []),
        ('(["hits", (value <= 0).float().mean()], ["size", value.mean()])', []),
        ('zip(["size", "hits"], [value.mean(), (value <= 0).float().mean()])', []),
        ("((str(i), v) for i, v in enumerate(value))", []),
        ("{'size': value.mean()}", []),
        ("__import__('elsewhere').parts(value)", []),
        ('[("size", value.detach().mean()), ("hits", (value <= 0).float().mean())]', ["SP301"]),
    ],
)
def test_a_dict_takes_pairs(tmp_path: Path, given: str, found: list[str]) -> None:
    assert codes(tmp_path, PAIRS.format(given=given)) == found


MODES = """
    def epoch():
        for x in torch.randn(9, 4, 3):
            loss = model(x).pow(2).mean()
            if {test}:
                opt.zero_grad()
                loss.backward()
                opt.step()
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        epoch()
        with torch.no_grad():
            {switch}
            epoch()
"""


@pytest.mark.parametrize(
    ("test", "switch", "found"),
    [
        ("model.training", "model.eval()", []),
        ("model.training", "model.train(False)", []),
        ("model[1].training", "model.eval()", []),
        ("model[1].training", "model.train(mode=False)", []),
        ("model.training", "model[1].eval()", ["SP301"]),
        ("model.training", "pass", ["SP301"]),
        ("True", "model.eval()", ["SP301"]),
    ],
)
def test_training_follows_train_and_eval(tmp_path: Path, test: str, switch: str, found: list[str]) -> None:
    assert codes(tmp_path, MODES.format(test=test, switch=switch)) == found


FOLLOWED = """
    seed = torch.randn(2, 2, requires_grad=True)
    seed.pow(2).mean().backward()
    crit = {crit}
    for x, y in zip(torch.randn(9, 4, 3), torch.zeros(9, 4).long()):
        loss = {loss}
        opt.zero_grad()
        loss.backward({how})
        opt.step()
"""


@pytest.mark.parametrize(
    ("crit", "loss", "how", "found"),
    [
        ("nn.NLLLoss()", "crit(F.log_softmax(net(x), 1), y)", "", []),
        ("F.nll_loss", "crit(F.log_softmax(net(x), 1), y)", "", []),
        ("nn.NLLLoss()", "crit(F.log_softmax(net(x), 1), y)", "retain_graph=True", ["SP402"]),
        ("nn.NLLLoss()", "crit(F.log_softmax(nn.Linear(3, 3)(x), 1), y)", "", ["SP406"]),
    ],
)
def test_a_loss_is_one_tensor(tmp_path: Path, crit: str, loss: str, how: str, found: list[str]) -> None:
    assert codes(tmp_path, FOLLOWED.format(crit=crit, loss=loss, how=how)) == found


def test_a_pass_that_cannot_be_told_may_reach_every_parameter(tmp_path: Path) -> None:
    body = """
        seed = torch.randn(2, 2, requires_grad=True)
        seed.pow(2).mean().backward()
        for x in torch.randn(9, 4, 3):
            opt.zero_grad()
            net(x).max(1).backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


RANK = """
    given = torch.zeros(1, 3)
    for x in torch.randn(9, 1, 3):
        h = torch.tanh(net(x) + given)
        given = h
        if {test}:
            given = given.{act}
        opt.zero_grad()
        h.sum().backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("test", "act", "found"),
    [
        ("len(given.size()) == 2", "unsqueeze(0)", ["SP103"]),
        ("len(given.shape) == 2", "unsqueeze(0)", ["SP103"]),
        ("given.dim() < 3", "unsqueeze(0)", ["SP103"]),
        ("given.ndim == 2", "view(1, 3)", ["SP103"]),
        ("given.dim() == 2", "detach()", []),
    ],
)
def test_what_one_statement_makes_has_one_rank(tmp_path: Path, test: str, act: str, found: list[str]) -> None:
    assert codes(tmp_path, RANK.format(test=test, act=act)) == found


OPEN = """
    from data import batches, kind
    seen, history = {}, []
    for batch in batches():
        x = batch["x"] if "x" in batch else batch[0]
        if x in history or len(batch) > 2 or isinstance(batch, (list, tuple)) or hasattr(batch, "y"):
            x = x + 1
        if x.size(0) == kind or x.dim() > 2 or not history:
            history.append(net(x).detach())
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()
"""


def test_answers_do_not_hang_on_where_objects_lie_in_memory() -> None:
    from secondpass.check.entries import as_program
    from secondpass.check.files.project import Project
    from secondpass.check.interpreter.branch_decisions import Policy
    from secondpass.check.torch.machine import TorchMachine

    def asked(policy: str) -> list[tuple[str, bool]]:
        project = Project(Path(), None, {"program.py": HEAD + textwrap.dedent(OPEN)})
        project.add("program.py")
        m = TorchMachine(project, Policy(policy))
        as_program("program.py")(m)
        return [(repr(key), answer) for key, answer in m.policy.answers.items()]

    first = asked("mixed")
    assert len(first) > 5
    elsewhere = [[object()] for _ in range(1000)]
    assert asked("mixed") == first and elsewhere


@pytest.mark.parametrize(("first", "second"), [("> 1", "<= 1"), (">= 2", "< 2"), ("< 2", ">= 2")])
def test_a_condition_and_its_opposite_leave_no_parameter_out(tmp_path: Path, first: str, second: str) -> None:
    body = f"""
        w = torch.randn(3, requires_grad=True)
        b = torch.zeros((), requires_grad=True)
        every = [w, b]
        opt = torch.optim.SGD([
            {{"params": [p for p in every if p.ndim {first}]}},
            {{"params": [p for p in every if p.ndim {second}], "lr": 0.1}},
        ], lr=0.1)
        for x in torch.randn(9, 3):
            loss = (w * x * b.item()).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP406"]


def test_a_sum_is_told_in_the_function_that_has_it(tmp_path: Path) -> None:
    """Another function's name is spelled alike, and stands first."""
    body = """
        def smoothed(x):
            total = net(x).pow(2).sum()
            total = total * 0.9 + net(x).abs().sum() * 0.1
            return total

        def train():
            total = 0.0
            for x in torch.randn(9, 4, 3):
                loss = smoothed(x)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total = total + loss
            print(total)

        train()
    """
    main = tmp_path / "main.py"
    main.write_text(HEAD + textwrap.dedent(body))
    told = read([main], Settings(jobs=1)).findings
    assert [(f.code, f.failed and f.failed.function) for f in told] == [("SP401", "train")]


def test_which_turns_step_is_not_guessed(tmp_path: Path) -> None:
    body = """
        import sys
        every = int(sys.argv[1])
        left = every
        for x in torch.randn(40, 4, 3):
            if left == every:
                opt.zero_grad()
            net(x).sum().backward()
            left -= 1
            if left == 0 or x.numel() == every:
                opt.step()
                left = every
    """
    assert codes(tmp_path, body) == []


def test_a_list_is_told_where_it_grows(tmp_path: Path) -> None:
    """Not where it gets its first value."""
    body = """
        seen = []
        loss = net(torch.randn(4, 3)).pow(2).mean()
        seen.append(loss)
        for x in torch.randn(9, 4, 3):
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss = net(x).pow(2).mean()
            seen.append(loss)
    """
    main = tmp_path / "main.py"
    main.write_text(HEAD + textwrap.dedent(body))
    told = read([main], Settings(jobs=1)).findings
    assert [(f.code, f.failed and f.failed.line) for f in told] == [("SP401", main.read_text().count("\n"))]


def test_what_grows_in_place_is_told_where_it_grows(tmp_path: Path) -> None:
    body = """
    import torch
    from torch import nn

    class Projection:
        def __init__(self):
            self.P = torch.eye(3)

        def renew(self, r):
            k = self.P @ {r}
            self.P.sub_(k * k)

    net = nn.Linear(3, 3)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    projection = Projection()
    for x in torch.randn(9, 2, 3):
        y = net(x)
        rule.zero_grad()
        y.mean().backward()
        projection.renew(y[0])
        rule.step()
    """
    source = tmp_path / "train.py"
    for r, found in (("r", [("SP401", 11, ("other",))]), ("r.detach()", [])):
        source.write_text(textwrap.dedent(body.format(r=r)))
        findings = read([source], Settings(cache=False)).findings
        assert [(f.code, f.failed and f.failed.line, tuple(r.kind for r in f.remedies)) for f in findings] == found


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("torch.tensor([net(x).item() for x in torch.randn(4, 3)])", "item"),
        ("net(torch.randn(4, 3)).detach()", "detach"),
        ("(net(torch.randn(4, 3)).detach() * 2).mean(1)", "detach"),
        ("net(torch.randn(4, 3)).data.to('cpu')", "data"),
        ("act(torch.randn(4, 3))", "no_grad"),
        ("torch.exp(act(torch.randn(4, 3)))", "no_grad"),
        ("torch.tensor(np.mean([float(net(x)) for x in torch.randn(4, 3)]) * 2)", "item"),
        ("torch.from_numpy(2 * net(torch.randn(4, 3)).detach().numpy().clip(0, 1))", "detach"),
        ("net(torch.randn(4, 3)).argmax(1)", "compare"),
    ],
)
def test_a_tensor_says_itself_where_its_history_ended(tmp_path: Path, values: str, why: str) -> None:
    body = f"""
    import numpy as np
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)

    def act(x):
        with torch.no_grad():
            return net(x)

    for _ in range(9):
        values = {values}
        other = act(torch.randn(2, 3))
        seen = net(torch.randn(2, 3)).detach()
        number, index = net(torch.randn(1, 3)).item(), net(torch.randn(2, 3)).argmax()
        loss = (values - 1).pow(2).mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
    """
    source = tmp_path / "train.py"
    source.write_text(textwrap.dedent(body))
    (found,) = read([source], Settings(jobs=1)).findings
    assert (found.code, found.facts["cut"]) == ("SP301", why)


@pytest.mark.parametrize(("grad", "found"), [("no_grad", ["no_grad"]), ("enable_grad", [])])
def test_a_pass_under_a_callers_no_grad_fails_for_that(tmp_path: Path, grad: str, found: list[str]) -> None:
    body = f"""
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    total = 0.0
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
        total += loss.item()

    def attack(x):
        x.requires_grad = True
        cost = net(x).sum()
        cost.backward()
        return x.detach() + x.grad.sign()

    with torch.{grad}():
        print(net(attack(torch.randn(2, 3))))
    """
    source = tmp_path / "train.py"
    source.write_text(textwrap.dedent(body))
    assert [f.facts["cut"] for f in read([source], Settings(jobs=1)).findings] == found


@pytest.mark.parametrize(("way", "found"), [("nn.init.zeros_(net.weight)", []), ("net.weight.clone()", ["SP301"])])
def test_what_fills_a_tensor_gives_it_back(tmp_path: Path, way: str, found: list[str]) -> None:
    body = f"""
    with torch.no_grad():
        weight = {way}
    net.bias.requires_grad_(False)
    for x in torch.randn(9, 2, 3):
        loss = F.linear(x, weight).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert codes(tmp_path, body) == found


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("pack(states, [3, 2]).data", []),
        ("pack(states, [3, 2])[0]", []),
        ("Packed(states.flatten(0, 1), sizes).data", []),
        ("second(pack(states, [3, 2]))[0].data", []),
        ("pack(states, [3, 2]).data.data", ["SP406"]),
        ("states.data", ["SP406"]),
    ],
)
def test_the_data_of_a_packed_sequence_has_its_history(tmp_path: Path, data: str, found: list[str]) -> None:
    body = f"""
    from torch.nn.utils.rnn import PackedSequence as Packed, pack_padded_sequence as pack
    first, second, sizes = nn.GRU(3, 3), nn.GRU(3, 3), torch.tensor([2, 2, 1])
    below = torch.optim.SGD(first.parameters(), lr=0.1)
    for x in torch.randn(9, 3, 2, 3):
        states, _ = first(x)
        loss = net({data}).pow(2).mean()
        opt.zero_grad()
        below.zero_grad()
        loss.backward()
        opt.step()
        below.step()
    """
    assert codes(tmp_path, body) == found


def test_nothing_is_said_of_what_python_refuses(tmp_path: Path) -> None:
    body = """
    criterion, weights = nn.MSELoss(), torch.ones(3).detach()
    for x in torch.randn(9, 2, 3):
        loss = (criterion * weights).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert codes(tmp_path, body) == []


@pytest.mark.parametrize(
    ("owner", "after", "found"),
    [
        ("None", "pass", ["SP403"]),  # a descent by hand
        ("library.build_optimizer(net)", "net.weight.data = old", []),  # an attack, which puts them back after one pass
        ("torch.optim.SGD(library.chosen(net), lr=0.1)", "net.weight.data = old", []),
    ],
)
def test_parameters_that_an_optimizer_may_own_are_not_trained_by_hand(
    tmp_path: Path, owner: str, after: str, found: list[str]
) -> None:
    body = f"""
    import library
    rule = {owner}
    for x in torch.randn(9, 2, 3):
        net(x).pow(2).mean().backward()
        old = net.weight.data.clone()
        net.weight.data.add_(0.1 * net.weight.grad)
        net(x).pow(2).mean().backward()
        {after}
        if rule is not None:
            rule.step()
            rule.zero_grad()
    """
    head = "import torch\nfrom torch import nn\nnet = nn.Linear(3, 3)\n"
    assert codes(tmp_path, body, head) == found


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("prior = weights.softmax(0)", []),  # made once for all steps: there the graph is needed
        ("print(weights)", ["SP402"]),
        ("prior = torch.ones(3)", ["SP402"]),
    ],
)
@pytest.mark.parametrize("option", ["'--learned', action='store_true'", "'--learned', type=int, default=0"])
def test_what_is_never_needed_is_needed_under_no_option(
    tmp_path: Path, option: str, more: str, found: list[str]
) -> None:
    body = f"""
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument({option})
    args = parser.parse_args()
    weights = torch.zeros(3, requires_grad=True)
    prior = torch.ones(3) / 3
    if args.learned:
        {more}
    for x in torch.randn(9, 2, 3):
        opt.zero_grad()
        (net(x).pow(2) * prior).mean().backward(retain_graph=True)
        opt.step()
    """
    assert codes(tmp_path, body) == found


REPLACED = """
    import copy
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net = {replaced}
    def report(net):
        print(sum(w.abs().sum().item() for w in net.children()))
    def renew(net):
        return torch.optim.SGD(net.parameters(), lr=0.1)
    def points():
        x = torch.rand(8, 3)
        return x.requires_grad_() if torch.rand(1) > 0.5 else x
    for step in range(1, 40):
        x = {data}
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
        if step > 30:
            {later}
"""


@pytest.mark.parametrize(
    ("replaced", "data", "later", "found"),
    [
        ("copy.deepcopy(net)", "torch.rand(8, 3)", "pass", ["SP406"]),
        ("copy.deepcopy(net)", "points()", "pass", ["SP406"]),
        ("copy.deepcopy(net)", "torch.rand(8, 3).requires_grad_()", "pass", ["SP406"]),
        ("copy.deepcopy(net)", "torch.rand(8, 3)", "report(net)", ["SP406"]),
        ("copy.deepcopy(net)", "torch.rand(8, 3)", "opt = renew(net)", []),
        ("net", "points()", "report(net)", []),
    ],
)
def test_parameters_that_nobody_holds_are_not_reached_any_more(
    tmp_path: Path, replaced: str, data: str, later: str, found: list[str]
) -> None:
    """Whatever a later branch calls cannot come to them; only the optimizer can be given others."""
    assert codes(tmp_path, REPLACED.format(replaced=replaced, data=data, later=later), "") == found


SAID_AGAIN = """
    import torch
    import torch.nn.functional as F
    net = torch.nn.Linear(3, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    class Targets:
        def __init__(self):
            self.k = 0
        def following(self):
            self.k += 1
            return torch.zeros(4, 2) + self.k
    targets = Targets()
    y, z = torch.zeros(4, 2), torch.ones(4, 2)
    out = net(torch.rand(4, 3)).tanh()
    {first}
    {between}
    {second}
"""


@pytest.mark.parametrize(
    ("first", "between", "second", "found"),
    [
        ("F.mse_loss(out, y).backward()", "pass", "F.mse_loss(out, y).backward()", ["SP101"]),
        ("F.mse_loss(out, y).backward()", "opt.zero_grad()", "F.mse_loss(out, y).backward()", ["SP101"]),
        ("F.mse_loss(out, y).backward()", "pass", "F.mse_loss(out, z).backward()", ["SP102"]),
        ("F.mse_loss(out, y).backward()", "y = z", "F.mse_loss(out, y).backward()", ["SP102"]),
        ("F.mse_loss(out, y).backward()", "pass", "F.l1_loss(out, y).backward()", ["SP102"]),
        ("F.mse_loss(out, targets.following()).backward()", "pass", "F.mse_loss(out, targets.following()).backward()", ["SP102"]),
        ("for y in (y, z):", "    F.mse_loss(out, y).backward()", "pass", ["SP102"]),
        ("for _ in (y, z):", "    F.mse_loss(out, y).backward()", "pass", ["SP101"]),
        ("F.mse_loss(out, y).backward(); F.mse_loss(out, z).backward()", "pass", "pass", ["SP102"]),
    ],
)  # fmt: skip
def test_one_expression_of_the_same_values_is_one_loss(
    tmp_path: Path, first: str, between: str, second: str, found: list[str]
) -> None:
    assert codes(tmp_path, SAID_AGAIN.format(first=first, between=between, second=second), "") == found


@pytest.mark.parametrize(
    "score",
    [
        "np.corrcoef(out.detach().numpy()[:, 0], y.numpy())[0, 1]",
        "np.mean([np.abs(p) for p in out.detach().numpy()])",
    ],
    ids=["slice", "comprehension"],
)
def test_a_part_of_an_array_has_lost_what_the_array_has(tmp_path: Path, score: str) -> None:
    text = f"""
        import numpy as np
        import torch
        model = torch.nn.Linear(2, 2)
        y = torch.randn(8)
        out = model(torch.randn(8, 2))
        loss = torch.tensor({score})
        loss.backward()
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    [finding] = read([tmp_path], Settings(jobs=1)).findings
    assert finding.code == "SP301"
    assert "`out` loses it" in finding.message


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("(p > 0.5).type(p.dtype)", ["SP301"]),
        ("p.type('torch.LongTensor').float()", ["SP301"]),
        ("p.type(torch.float64)", []),
    ],
)
def test_a_tensor_of_another_type(tmp_path: Path, kind: str, found: list[str]) -> None:
    body = """
    for x in torch.randn(9, 4, 3):
        p = torch.sigmoid(net(x))
        loss = 1 - {}.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    assert codes(tmp_path, body.format(kind)) == found


GIVEN = """
    class Trainer:
        def __init__(self):
            self.critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.judge = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.first = torch.optim.Adam(self.critic.parameters())
            self.second = torch.optim.Adam(self.judge.parameters())

        def update(self, {given}):
            {enters}
            value, goal = self.critic({one}), self.judge({other})
            loss = ((value - goal.detach()) ** 2).mean()
            self.first.zero_grad()
            loss.backward(retain_graph=True)
            self.first.step()
            self.second.zero_grad()
            (-goal.mean()).backward()
            self.second.step()
"""


@pytest.mark.parametrize(
    ("given", "enters", "one", "other", "found"),
    [
        ("x", "pass", "x", "x", []),  # an imagined trajectory, perhaps: both go back to who imagined it
        ("batch", "pass", "batch.states", "batch['next']", []),
        ("batch", "x = batch.states.detach()", "x", "x", ["SP402"]),
        ("x, y", "pass", "x", "y", ["SP402"]),
        ("n", "x = torch.randn(n, 4)", "x", "x", ["SP402"]),
    ],
)
def test_what_a_function_is_given_may_have_a_graph_that_two_passes_walk(
    tmp_path: Path, given: str, enters: str, one: str, other: str, found: list[str]
) -> None:
    assert codes(tmp_path, GIVEN.format(given=given, enters=enters, one=one, other=other)) == found


def test_data_that_every_turn_of_a_loop_goes_through_needs_no_graph(tmp_path: Path) -> None:
    body = """
        def fit(x, y, turns):
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(turns):
                loss = F.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()
    """
    assert codes(tmp_path, body) == ["SP402"]


COLLECTED = """
    import collections
    {made}
    for step in range(200):
        loss = F.mse_loss(net(torch.randn(5, 3)), torch.zeros(5, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(loss)
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("kept = collections.deque()", ["SP401"]),
        ("kept = collections.deque(maxlen=None)", ["SP401"]),
        ("kept = collections.deque(maxlen=100)", []),
        ("kept = collections.deque([], 20)", []),
        ("kept = collections.deque(maxlen=int(input()))", []),
        ("kept = collections.deque(maxlen=1_000_000)", ["SP401"]),
    ],
)
def test_a_deque_with_a_limit_forgets_by_itself(tmp_path: Path, made: str, found: list[str]) -> None:
    assert codes(tmp_path, COLLECTED.format(made=made)) == found


@pytest.mark.parametrize(("entry", "numbers"), [("loss", True), ("(step, loss)", False), ("Entry(step, loss)", False)])
def test_a_tuple_is_no_tensor_that_a_number_could_stand_for(tmp_path: Path, entry: str, numbers: bool) -> None:
    head = HEAD + "from collections import namedtuple\nEntry = namedtuple('Entry', 'step loss')\n"
    main = tmp_path / "main.py"
    body = COLLECTED.format(made="kept = []").replace("kept.append(loss)", f"kept.append({entry})")
    main.write_text(head + textwrap.dedent(body))
    (found,) = read([main], Settings(jobs=1)).findings
    assert [r.kind for r in found.remedies] == (["item", "detach"] if numbers else ["detach"])
