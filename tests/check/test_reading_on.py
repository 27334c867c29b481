# SPDX-License-Identifier: BSD-3-Clause
"""Reading on where something is not known: what ends a reading, what does not, and what is certain nevertheless."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read
from secondpass.check.interpreter.machine import Machine

from .test_frameworks import found
from .test_interpreter import HEAD, codes

GUARDED = """
    import torch
    from torch import nn
    from settings import options

    def build(kind, size):
        {guard}
        return made

    def main():
        net = build(options.kind, options.size)
        rule = torch.optim.SGD(net.parameters(), lr=options.lr)
        for x in torch.randn(9, 2, 3):
            loss = net(x).pow(2).mean()
            rule.zero_grad()
            loss.backward({how})
            rule.step()

    main()
"""
RAISES = """if kind == "a":
            made = nn.Linear(3, 1)
        else:
            if size > 3:
                made = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
            if size <= 3:
                refuse(size)
            if size == 0:
                raise ValueError(size)
            made = nn.Linear(3, 2)"""


@pytest.mark.parametrize(
    "guard",
    [
        RAISES,
        "check = size > 3\n        if not check:\n            print(size)\n        if not check:\n            raise KeyError\n"
        "        made = nn.Linear(3, 1)",
        "found = None\n        made = nn.Linear(3, found.size)",
        "found = None\n        made = nn.Linear(3, found[0])",
    ],
)
def test_a_guard_does_not_use_up_the_readings(tmp_path: Path, guard: str) -> None:
    assert codes(tmp_path, GUARDED.format(guard=guard, how="retain_graph=True"), "") == ["SP402"]
    assert codes(tmp_path, GUARDED.format(guard=guard, how=""), "") == []


def test_an_exception_that_the_program_catches_is_raised(tmp_path: Path) -> None:
    body = """
        import torch
        w = torch.ones(3, requires_grad=True)
        found = None
        try:
            size = found.size
            loss = w.sum()
        except AttributeError:
            loss = w.exp().sum()
        loss.backward()
        loss.backward()
    """
    assert codes(tmp_path, body, "") == ["SP101"]


LEFT_OPEN = """
    import torch
    from torch import nn

    class Model(nn.Module):
        def forward(self, x):
            {body}

        def fit(self, batches):
            total = 0
            rule = torch.optim.SGD(self.parameters(), lr=0.1)
            for x in batches:
                loss = self(x).mean()
                rule.zero_grad()
                loss.backward()
                rule.step()
                total += loss{how}
            return total
"""


@pytest.mark.parametrize(
    "body", ["raise NotImplementedError", "'''for subclasses'''\n            raise NotImplementedError(x)"]
)
def test_a_method_that_is_left_open_is_one_that_is_not_read(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, LEFT_OPEN.format(body=body, how=""), "") == ["SP401"]
    assert codes(tmp_path, LEFT_OPEN.format(body=body, how=".item()"), "") == []


HEADS = """
    import torch
    import torch.nn.functional as F
    {head}
    def learn(batches, {more}):
        {made}
        {state}
        for x, y in batches:
            {call}
            rule.zero_grad()
            {passes}
            rule.step()
"""


@pytest.mark.parametrize(
    ("call", "passes", "found"),
    [
        # Two critics in one module share nothing; two heads on one trunk do: neither can be told.
        ("one, two = thing(x)", "F.mse_loss(one, y).backward(); F.mse_loss(two, y).backward()", []),
        ("one, two = thing(x)", "F.mse_loss(one, y).backward(retain_graph=True); F.mse_loss(two, y).backward()", []),
        (
            "one, two = thing(x)",
            "F.mse_loss(one, y).backward(); rule.step(); rule.zero_grad(); F.mse_loss(two, y).backward()",
            [],
        ),
        ("one, two = thing(x)", "F.mse_loss(one, two).backward(retain_graph=True)", ["SP402"]),
        ("one = thing(x)", "F.mse_loss(one, y).backward(); F.mse_loss(one, -y).backward()", ["SP102"]),
        ("one, two = thing(x)", "loss = F.mse_loss(one, two); loss.backward(); loss.backward()", ["SP101"]),
        # What a recurrent network gives is made from its state.
        ("one, state = thing(x, state)", "F.mse_loss(one, y).backward()", ["SP103"]),
        ("one, state = thing(x, state.detach())", "F.mse_loss(one, y).backward()", []),
    ],
)
def test_what_a_call_gives_need_not_share_more_than_what_went_in(
    tmp_path: Path, call: str, passes: str, found: list[str]
) -> None:
    parts = {"more": "thing", "made": "rule = torch.optim.Adam(thing.parameters())", "head": "pass"}
    state = "state = torch.zeros(1, 3)" if "state" in call else "pass"
    assert codes(tmp_path, HEADS.format(call=call, passes=passes, state=state, **parts), "") == found


LAYERS = """
    import torch
    from {where} import Module
    from torch import nn
    from settings import widths

    class Net(Module):
        def __init__(self):
            super().__init__()
            layers = []
            for width in widths:
                layers.append(nn.Linear(width, width))
                layers.append(nn.Tanh())
            layers.append({last})
            self.run = nn.Sequential(*layers)

        def forward(self, x):
            return self.run(x)

    make, judge = Net(), Net()
    makes = torch.optim.Adam(make.parameters())
    judges = torch.optim.Adam(judge.parameters())
    for x in torch.randn(9, 4, 3):
        fake = make(x)
        cost = judge(fake).mean()
        judges.zero_grad()
        judge(fake.detach()).mean().backward()
        {step}
        makes.zero_grad()
        cost.backward()
        makes.step()
"""


@pytest.mark.parametrize("where", ["torch.nn", "torch.nn.modules.module", "torch.nn.modules"])
def test_layers_whose_number_is_not_known_are_layers(tmp_path: Path, where: str) -> None:
    assert codes(tmp_path, LAYERS.format(where=where, last="nn.Linear(3, 1)", step="judges.step()"), "") == ["SP201"]
    assert codes(tmp_path, LAYERS.format(where=where, last="nn.Linear(3, 1)", step="pass"), "") == []


@pytest.mark.parametrize(
    ("copy", "found"), [("copy.copy(loss)", ["SP405"]), ("loss", ["SP101"]), ("loss.clone()", ["SP101"])]
)
def test_a_copied_tensor_is_a_leaf(tmp_path: Path, copy: str, found: list[str]) -> None:
    body = f"""
        import copy
        import torch
        w = torch.ones(3, requires_grad=True)
        rule = torch.optim.SGD([w], lr=0.1)
        loss = w.exp().sum()
        loss.backward()
        rule.step()
        again = {copy}
        again.backward()
        rule.step()
    """
    assert codes(tmp_path, body, "") == found


SAME = """
    import torch
    from torch import nn
    from settings import every

    make, judge = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), nn.Linear(3, 1)
    makes = torch.optim.Adam(make.parameters())
    judges = torch.optim.Adam(judge.parameters())
    for step, x in enumerate(torch.randn(9, 4, 3)):
        made = make(x)
        one, two = made.pow(2).mean(), judge(made).mean()
        makes.zero_grad()
        judges.zero_grad()
        if step % every == {first}:
            one.backward(retain_graph=True)
            makes.step()
        if step % every == {second}:
            two.backward()
            judges.step()
"""


def test_the_same_question_about_a_computed_number_has_the_same_answer(tmp_path: Path) -> None:
    assert codes(tmp_path, SAME.format(first=0, second=0), "") == ["SP201"]
    # Never both in one iteration: nothing is walked twice.
    assert codes(tmp_path, SAME.format(first=0, second=1), "") == ["SP402"]


SETTINGS = """
    import yaml
    import torch
    class Settings(dict):
        def __init__(self, values):
            super().__init__(values)
        def __getattr__(self, name):
            if name in self:
                return self[name]
            raise AttributeError(name)
    values = {}
    for key, value in yaml.safe_load(open("x")).items():
        values[key] = value
    settings = Settings(values)
    net = torch.nn.Linear(settings.width, 1)
    loss = net(torch.randn(4, settings.width)).sum()
    loss.backward()
    loss.exp().backward()
"""


def test_what_a_file_says_is_in_a_dict_of_the_programs_own(tmp_path: Path) -> None:
    assert codes(tmp_path, SETTINGS, "") == ["SP102"]


FILLED = """
    import torch
    from torch import nn

    class Learner(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1, bias=False)

        def fill(self, flat):
            {fill}

        def forward(self, x):
            return self.layer(x)

    learner, teacher = Learner(), nn.Linear(2, 3)
    rule = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for x in torch.randn(9, 4, 3):
        learner.fill(teacher(torch.randn(1, 2)))
        loss = learner(x).pow(2).mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
"""


@pytest.mark.parametrize(
    ("fill", "found"),
    [
        ("self.layer._parameters['weight'] = flat", []),
        ("self.layer._parameters['weight'] = flat.detach()", ["SP301"]),
        ("self.layer.weight.data.copy_(flat)", ["SP406"]),
    ],
)
def test_parameters_are_put_into_a_module_by_name(tmp_path: Path, fill: str, found: list[str]) -> None:
    assert codes(tmp_path, FILLED.format(fill=fill), "") == found


KEPT = """
    import torch
    from elsewhere import world
    net = torch.nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = torch.zeros(5, 1)
    for step in range(100):
        x = torch.randn(1, 3)
        cost = net(x).pow(2).mean()
        rule.zero_grad()
        cost.backward()
        rule.step()
        kept[step % 5].copy_({what})
"""


@pytest.mark.parametrize(("what", "found"), [("world.go(x)", []), ("cost.detach()", [])])
def test_what_may_have_no_history_keeps_none(tmp_path: Path, what: str, found: list[str]) -> None:
    assert codes(tmp_path, KEPT.format(what=what), "") == found


CHOSEN = """
    import torch
    from torch import nn
    from settings import options

    {factory}

    def main():
        {made}
        net = nn.Linear(3, 1)
        rule = torch.optim.SGD(net.parameters(), lr=options.lr)
        for x in torch.randn(9, 2, 3):
            loss = net(x).pow(2).mean()
            rule.zero_grad()
            loss.backward(retain_graph=keep)
            rule.step()

    main()
"""
_BY_RETURN = """def choose(kind):
        if kind == "a":
            return True
        if kind {op} "b":
            return 1"""
_BY_NAME = """if options.kind == "a":
            keep = True
        elif options.kind == "b":
            keep = 1"""


@pytest.mark.parametrize(
    ("factory", "made", "found"),
    [
        (_BY_RETURN.format(op="=="), "keep = choose(options.kind)", ["SP402"]),
        (_BY_RETURN.format(op="in"), "keep = choose(options.kind)", ["SP402"]),
        ("pass", _BY_NAME, ["SP402"]),
        # Something else is there where none of them holds, or may be meant to be.
        ("pass", "keep = False\n        " + _BY_NAME, []),
        ("pass", _BY_NAME.replace('options.kind == "b"', "options.size > 3"), []),
        (_BY_RETURN.format(op="==") + "\n        return False", "keep = choose(options.kind)", []),
        (_BY_RETURN.format(op="==").replace("return 1", "return None"), "keep = choose(options.kind)", []),
    ],
)
def test_a_value_that_chooses_is_one_of_those_it_is_compared_with(
    tmp_path: Path, factory: str, made: str, found: list[str]
) -> None:
    assert codes(tmp_path, CHOSEN.format(factory=factory, made=made), "") == found


STEPPED = """
    import torch
    from torch import nn
    from settings import options

    class Agent:
        def __init__(self, options):
            self.body = nn.Linear(3, 3)
            self.head = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
            self.rules = {{"body": torch.optim.SGD(self.body.parameters(), lr=0.1)}}
            self.rules["head"] = torch.optim.SGD(self.head.parameters(), lr=0.1)
            self.parts = {{}}
            {before}
            if options.learns:
                {made}

        def update(self, x, y):
            middle = self.body(x)
            first = self.head(middle.detach()).mean()
            second = {use}(self.head(middle), y)
            first.backward()
            self.rules["head"].step()
            second.backward()
            self.rules["body"].step()
"""


@pytest.mark.parametrize(
    ("before", "made", "use", "found"),
    [
        ("pass", "self.measure = nn.MSELoss()", "self.measure", ["SP201"]),
        ("pass", 'self.parts["measure"] = nn.MSELoss()', 'self.parts["measure"]', ["SP201"]),
        ("self.measure = None", "self.measure = nn.MSELoss()", "self.measure", ["SP201"]),
        # Here the other answers break nothing.
        ("self.measure = lambda a, b: b.clone().requires_grad_()", "self.measure = nn.MSELoss()", "self.measure", []),
        ("self.measure = options.measure", "self.measure = nn.MSELoss()", "self.measure", []),
    ],
)
def test_answers_with_which_a_program_lacks_what_it_uses_say_nothing(
    tmp_path: Path, before: str, made: str, use: str, found: list[str]
) -> None:
    assert codes(tmp_path, STEPPED.format(before=before, made=made, use=use), "") == found


WALKED = """
    import torch
    from torch import nn

    class Batches:
        def __init__(self, data):
            self.data = data
            self.place = 0

        def __iter__(self):
            self.place = 0
            return {walker}

        def __next__(self):
            if self.place >= len(self.data):
                raise StopIteration
            self.place += 1
            return self.data[self.place - 1]

    cell = nn.GRUCell(3, 4)
    rule = torch.optim.SGD(cell.parameters(), lr=0.1)
    batches = Batches(torch.randn(9, 2, 3))
    {start}
    h = torch.zeros(2, 4)
    for _ in range(4):
        {walk}
            h = cell(x, {state})
            rule.zero_grad()
            h.pow(2).mean().backward()
            rule.step()
"""


@pytest.mark.parametrize(
    ("walker", "start", "walk"),
    [
        ("self", "pass", "for x in batches:"),
        ("self", "pass", "for step, x in enumerate(batches):"),
        ("Batches(self.data)", "pass", "for x in batches:"),
        ("self", "walk = iter(batches)", "for x in [next(walk)]:"),
        ("self", "walk = iter(batches)", "for x in [next(batches)]:"),
        ("self", "pass", "for x in unheard_of(batches):"),
    ],
)
def test_iterators_of_the_programs_own_are_stepped(tmp_path: Path, walker: str, start: str, walk: str) -> None:
    parts = {"walker": walker, "start": start, "walk": walk}
    assert codes(tmp_path, WALKED.format(**parts, state="h"), "") == ["SP103"]
    assert codes(tmp_path, WALKED.format(**parts, state="h.detach()"), "") == []


def test_a_module_whose_forward_trains_is_read(tmp_path: Path) -> None:
    body = """
    import torch
    from torch import nn

    class Trainer(nn.Module):
        def __init__(self, net, batches):
            super().__init__()
            self.net = net
            self.rule = torch.optim.Adam(net.parameters())
            self.batches = batches

        def forward(self):
            for x in self.batches:
                loss = self.net(x).pow(2).mean()
                {first}
                {second}
                self.rule.step()
    """
    one, two = "loss.backward()", "self.rule.zero_grad()"
    assert codes(tmp_path, body.format(first=one, second=two), "") == ["SP404"]
    assert codes(tmp_path, body.format(first=two, second=one), "") == []


def test_settings_that_are_copied_one_by_one_are_known(tmp_path: Path) -> None:
    body = """
    import argparse
    import torch
    from torch import nn

    class Settings:
        def __init__(self):
            parser = argparse.ArgumentParser()
            for name in "a b c d e f g h i j".split():
                parser.add_argument("--" + name, default=0)
            parser.add_argument("--keep", default={keep})
            given = dict(vars(parser.parse_args()))
            for name in given:
                {copy}

    settings = Settings()
    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        rule.zero_grad()
        loss.backward(retain_graph=settings.keep)
        rule.step()
    """
    for copy in ("setattr(self, name, given[name])", "self.__setattr__(name, given[name])"):
        assert codes(tmp_path, body.format(keep=True, copy=copy), "") == ["SP402"]
        assert codes(tmp_path, body.format(keep=False, copy=copy), "") == []


def test_layers_that_are_put_away_by_name_are_the_modules(tmp_path: Path) -> None:
    body = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.layers = []
            for i, size in enumerate(sizes):
                layer = nn.Linear(3, size)
                self.__setattr__("layer{{}}".format(i), layer)
                self.layers.append(layer)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).tanh()
            return x

    net = Net([3, 3])
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        {clear}
        loss.backward()
        rule.step()
    """
    assert codes(tmp_path, body.format(clear="pass"), "") == ["SP403"]
    assert codes(tmp_path, body.format(clear="rule.zero_grad()"), "") == []


LONG = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    def grind(n):
        total = 0
        for a in range(n):
            for b in range(n):
                for c in range(n):
                    for d in range(n):
                        for e in range(n):
                            for f in range(n):
                                for g in range(n):
                                    for h in range(n):
                                        for i in range(n):
                                            total = max(total, a + b * c + d * e, f - g, h // (i + 1))
        return total

    class Items(Dataset):
        def __getitem__(self, index):
            {item}
            return torch.randn(3)

    {before}
    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(30):
        for x in DataLoader(Items()):
            loss = net(x).pow(2).mean()
            {clear}
            loss.backward()
            rule.step()
        {after}
"""


@pytest.mark.parametrize("where", ["item", "before", "after"])
def test_what_takes_long_is_looked_at_in_brief(tmp_path: Path, where: str) -> None:
    parts = {"item": "pass", "before": "pass", "after": "pass"} | {where: "grind(50)"}
    assert codes(tmp_path, LONG.format(clear="pass", **parts), "") == ["SP403"]
    assert codes(tmp_path, LONG.format(clear="rule.zero_grad()", **parts), "") == []


def test_a_graph_that_comes_from_nowhere_may_be_needed_again(tmp_path: Path) -> None:
    body = """
    import torch
    from torch import nn

    class Agent:
        def __init__(self):
            self.nets = [nn.Linear(3, 1), nn.Linear(3, 1)]
            self.rules = [torch.optim.SGD(n.parameters(), lr=0.1) for n in self.nets]

        def train(self):
            for i in range(2):
                loss = (torch.zeros(3) - {values}).pow(2).mean()
                self.rules[i].zero_grad()
                loss.backward(retain_graph=True)
                self.rules[i].step()
    """
    assert codes(tmp_path, body.format(values="self.values[i]"), "") == []
    assert codes(tmp_path, body.format(values="self.nets[i](torch.ones(3))"), "") == ["SP402"]


def test_a_stack_of_contexts_is_left_from_its_end(tmp_path: Path) -> None:
    body = """
    import torch
    from contextlib import ExitStack, contextmanager
    from torch import nn

    @contextmanager
    def stepping(rule):
        {first}
        yield
        {second}
        rule.step()

    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(9, 2, 3):
        with ExitStack() as stack:
            stack.enter_context({context})
            loss = net(x).pow(2).mean()
            loss.backward()
    """
    clear = "rule.zero_grad()"
    assert codes(tmp_path, body.format(first=clear, second="pass", context="stepping(rule)"), "") == []
    assert codes(tmp_path, body.format(first="pass", second=clear, context="stepping(rule)"), "") == ["SP404"]
    assert codes(tmp_path, body.format(first="pass", second="pass", context="stepping(rule)"), "") == ["SP403"]
    assert codes(tmp_path, body.format(first="pass", second="pass", context="torch.no_grad()"), "") == ["SP301"]


def test_a_function_that_a_reading_was_cut_off_in_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = """
    import torch

    def train(net, rule, batches):
        losses = []
        for x in batches:
            loss = net(x).pow(2).mean()
            rule.zero_grad()
            loss.backward()
            rule.step()
            losses.append(loss)
        return losses
    """
    main = """
    import torch
    from torch import nn
    from training import train

    def walk(n):
        for a in range(7):
            for b in range(7):
                n = n + a * b
        return n

    size = walk(walk(walk(walk(1))))
    net = nn.Linear(3, size)
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(90, 2, 3))
    """
    (tmp_path / "training.py").write_text(textwrap.dedent(training))
    (tmp_path / "main.py").write_text(textwrap.dedent(main))
    monkeypatch.setattr(Machine, "BEFORE", 1)
    for steps in (12_000, 110):  # the program comes to its end; into the function, and not to its pass
        monkeypatch.setattr(Machine, "STEPS", steps)
        monkeypatch.setattr(Machine, "STEPS_PER_LINE", 1)
        found = read([tmp_path], Settings(jobs=1)).findings
        assert [(f.code, f.failed and f.failed.file.rpartition("/")[2]) for f in found] == [("SP401", "training.py")]


@pytest.mark.parametrize("empty", ["list()", "[]"])
def test_a_leak_is_told_where_something_is_put_and_not_where_room_is_made(tmp_path: Path, empty: str) -> None:
    body = f"""
    import torch
    from torch import nn

    class Collector:
        def __init__(self):
            self.kept = {{}}

        def add(self, key):
            self.kept[key] = {empty}

        def __setitem__(self, key, value):
            self.kept[key].append(value)

    net = nn.Linear(3, 1)
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    collector = Collector()
    collector.add("loss")
    for x in torch.randn(90, 2, 3):
        loss = net(x).pow(2).mean()
        collector["loss"] = loss
        rule.zero_grad()
        loss.backward()
        rule.step()
    """
    file = tmp_path / "main.py"
    file.write_text(textwrap.dedent(body))
    lines = file.read_text().splitlines()
    told = [lines[f.failed.line - 1].strip() for f in read([file], Settings(jobs=1)).findings if f.failed]
    assert told == ["self.kept[key].append(value)"]


@pytest.mark.parametrize(
    ("changed", "keep", "full", "brief"),
    [
        ("y = y + x", "", [], []),
        ("y += x", "", ["SP202"], ["SP202"]),
        ("y = y + x", "retain_graph=True", ["SP402"], []),  # what is never needed shows only in whole forwards
    ],
)
def test_a_network_that_takes_long_to_build_is_read_to_its_first_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, keep: str, full: list[str], brief: list[str]
) -> None:
    body = f"""
    import torch
    from torch import nn

    def built(n):
        size = 0
        for a in range(n):
            for b in range(n):
                size = size + a * b
        return nn.Linear(3, 3)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = built(6), built(6), built(6)

        def forward(self, x):
            y = self.first(x).relu()
            {changed}
            return self.third(self.second(y))

    net = Net()
    rule = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(90, 2, 3):
        loss = net(x).pow(2).mean()
        rule.zero_grad()
        loss.backward({keep})
        rule.step()
    """
    assert codes(tmp_path, body, "") == full
    monkeypatch.setattr(Machine, "STEPS_PER_LINE", 1)
    monkeypatch.setattr(Machine, "STEPS", 215)
    assert codes(tmp_path, body, "") == brief


@pytest.mark.parametrize("wrapper", ["nn.DataParallel", "nn.parallel.DistributedDataParallel", "torch.compile"])
def test_what_a_wrapper_wraps_is_the_module(tmp_path: Path, wrapper: str) -> None:
    inner = "_orig_mod" if wrapper == "torch.compile" else "module"
    body = f"""
    import torch
    from torch import nn

    class Players(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
            self.rule = torch.optim.SGD(self.two.parameters(), lr=0.1)

        def forward(self, x):
            made = self.one(x)
            return self.two(made.detach()).mean(), self.two(made).mean()

    players = {wrapper}(Players())
    inner = players.{inner} if hasattr(players, "{inner}") else players
    rule = torch.optim.SGD(inner.one.parameters(), lr=0.1)
    for x in torch.randn(9, 2, 3):
        first, second = players(x)
        inner.rule.zero_grad()
        first.backward()
        inner.rule.step()
        rule.zero_grad()
        second.backward()
        rule.step()
    """
    assert codes(tmp_path, body, "") == ["SP201"]


@pytest.mark.parametrize("load", ["__import__(name)", "importlib.import_module(name)"])
def test_a_module_that_is_imported_by_its_name(tmp_path: Path, load: str) -> None:
    body = f"""
    import importlib
    name = "shape" + "s"
    kept = []
    net = {load}.make(3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(90, 2, 3):
        loss = net(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(net.note)
    """
    shapes = """
    import torch

    class Noting(torch.nn.Linear):
        def forward(self, x):
            self.note = super().forward(x)
            return self.note

    def make(size):
        return Noting(size, size)
    """
    assert codes(tmp_path, body, "import torch\n", shapes=shapes) == ["SP401"]


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("kept.append(loss)", ["SP401"]),
        ("total += loss", ["SP401"]),
        ("total = total + loss.mean() / 90", ["SP401"]),
        ("kept.append(loss.item())", []),
        ("total += loss.detach()", []),
        ("total += float(loss)", []),
        ("kept.append(out['note'])", []),
        ("total += out['note']", []),
    ],
)
def test_what_a_pass_began_at_has_history(tmp_path: Path, kept: str, found: list[str]) -> None:
    body = f"""
    import library
    model = library.build()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept, total = [], 0
    for x in torch.randn(90, 2, 3):
        out = model.losses(x)
        loss = out["loss"]
        opt.zero_grad()
        loss.backward()
        opt.step()
        {kept}
    print(total, kept)
    """
    assert codes(tmp_path, body, "import torch\n") == found


EVERY = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(9000, 4)), batch_size=3)
    kept = []
    for turn, {each}:
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if {due}:
            {keep}
"""


@pytest.mark.parametrize("each", ["x in enumerate(range(2000))", "(x,) in enumerate(loader)"])
@pytest.mark.parametrize("due", ["turn % 10 == 0", "turn % 100 == 0", "(turn + 1) % 25 == 0", "turn % 7 == 6"])
def test_what_is_kept_at_long_intervals_grows(tmp_path: Path, each: str, due: str) -> None:
    assert found(tmp_path, EVERY.format(each=each, due=due, keep="kept.append(loss)")) == [
        ("SP401", "kept.append(loss)")
    ]


@pytest.mark.parametrize(
    "keep",
    [
        "kept.append(loss.item())",
        "kept = [loss]",
        "kept = [*kept[-3:], loss]",
        "kept.append(loss)\n        if turn % 40 == 39:\n            print(torch.stack(kept).mean())\n            kept = []",
        "kept.append(loss)\n            if len(kept) > 9:\n                kept.clear()",
    ],
)
def test_what_is_kept_at_long_intervals_and_let_go(tmp_path: Path, keep: str) -> None:
    assert found(tmp_path, EVERY.format(each="x in enumerate(range(2000))", due="turn % 10 == 0", keep=keep)) == []


WRITTEN = """
    import torch
    net = torch.nn.Linear(2, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        out = torch.zeros(8, 2{gathers})
        {moved}
        for i, x in enumerate(torch.rand(8, 2)):
            {under}:
                out[i, 0] = net(x)[0]
        loss = ((out - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("gathers", "moved", "under", "codes"),
    [
        (", requires_grad=True", "out = out.cuda()", "if 1", []),  # a copy takes what is written, and its history
        (", requires_grad=True", "out = out.to(torch.device('cuda'))", "if 1", []),
        (", requires_grad=True", "", "if 1", []),  # PyTorch refuses, which is another error
        ("", "out = out.cuda()", "if 1", []),
        (", requires_grad=True", "", "with torch.no_grad()", ["SP301"]),
    ],
)
def test_what_is_written_into_a_leaf_that_gathers_gradients(
    tmp_path: Path, gathers: str, moved: str, under: str, codes: list[str]
) -> None:
    program = WRITTEN.format(gathers=gathers, moved=moved, under=under)
    assert [code for code, _ in found(tmp_path, program)] == codes


SAMPLER = """
    import torch

    def fit(x, scale):
        return ((x * scale) ** 2).sum(){second}

    net, scale, x = torch.nn.Linear(2, 2), torch.tensor(2.0), torch.rand(8, 2)
    for step in range(5):
        x.requires_grad_()
        slope = torch.autograd.grad(fit(x, scale){first}, x)[0]
        x = (x - 0.1 * slope){taken}
        {again}
        slope = torch.autograd.grad({root}, x)[0]
        x = (x - 0.1 * slope).detach()
"""


@pytest.mark.parametrize(
    ("second", "first", "taken", "again", "root", "codes"),
    [
        # The second output has no history; what is asked for was made after the gradient, which cannot depend on it.
        (", scale", "[0]", ".detach()", "x.requires_grad_()", "fit(x, scale)", {"SP301"}),
        ("", "", ".detach()", "x.requires_grad_()", "fit(x, scale)", set()),
        ("", "", ".detach()", "x.requires_grad_()", "slope.sum()", {"SP301"}),
        # A gradient that is differentiated by what it was computed with.
        ("", "", "", "x = x.detach().requires_grad_(); slope = torch.autograd.grad(fit(x, scale), x)[0]", "slope.sum()", {"SP109"}),
    ],
)  # fmt: skip
def test_a_gradient_is_differentiated_only_by_what_it_was_computed_with(
    tmp_path: Path, second: str, first: str, taken: str, again: str, root: str, codes: set[str]
) -> None:
    program = SAMPLER.format(second=second, first=first, taken=taken, again=again, root=root)
    assert {code for code, _ in found(tmp_path, program)} == codes


TRANSPORT = """
    import torch

    def transport(score, y, turns=13):
        x = {begun}.requires_grad_()
        optimizer = torch.optim.Adam([x], lr=0.1)
        for _ in range(turns):
            optimizer.zero_grad()
            loss = (torch.norm(x - y, dim=1) - score(x).view(-1)).mean()
            loss.backward(retain_graph=True)
            optimizer.step()
        return x.detach()
"""


@pytest.mark.parametrize(
    ("begun", "codes"),
    [("y.clone().detach()", []), ("y.detach().clone()", []), ("torch.zeros(8, 4)", ["SP402"])],
)
def test_an_argument_that_is_detached_may_have_a_graph(tmp_path: Path, begun: str, codes: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, TRANSPORT.format(begun=begun))] == codes


CODED = """
    import torch
    from torch import nn

    class Coder(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(16, 4)
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            z = self.inner(x)
            picked = torch.argmin(torch.cdist(z, self.table.weight), dim=1)
            q = self.table(picked)
            return z + (q - z).detach(), picked

    coder, net = Coder(), nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16))
    first = torch.optim.SGD(coder.parameters(), lr=0.1)
    for step in range(5):
        q, _ = coder(torch.randn(8, 4))
        first.zero_grad()
        q.pow(2).mean().backward()
        first.step()
    {frozen}
    second = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(5):
        with torch.no_grad():
            picked = coder(torch.randn(8, 4))[1].view(-1)
        second.zero_grad()
        nn.functional.cross_entropy(net(picked), picked).backward()
        second.step()
"""


@pytest.mark.parametrize(
    ("frozen", "cuts"),
    [
        ("", ["detach"]),  # the table of the first network: what is under `no_grad` comes after its last step
        # It fails because the network is frozen, not because of what was cut elsewhere: unless all are, nothing is told.
        ("net.requires_grad_(False)", []),
        ("net.requires_grad_(False); coder.requires_grad_(False)", ["frozen"]),
    ],
)
def test_a_loss_of_a_frozen_network_lost_its_history_nowhere_else(tmp_path: Path, frozen: str, cuts: list[str]) -> None:
    (tmp_path / "main.py").write_text(textwrap.dedent(CODED).format(frozen=frozen))
    assert [f.facts["cut"] for f in read([tmp_path], Settings(jobs=1)).findings] == cuts


def test_settings_are_copied_to_their_end_however_late(tmp_path: Path) -> None:
    passes = "\n".join(f"for x in data: net(x).mean().backward(); opt.step(); opt.zero_grad()  # {n}" for n in range(9))
    program = f"""
import torch
class Settings:
    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.randn(64, 4))
{passes}
s = Settings(a=1, b=2, c=3, d=4, e=5, f=6, g=7, kept=[])
for x in data:
    loss = net(x).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    s.kept.append(loss)
"""
    assert found(tmp_path, program) == [("SP401", "s.kept.append(loss)")]


BY_HAND = """
    import torch
    net = torch.nn.Linear(4, 2)
    for turn in range(9):
        x = torch.randn(3, 4, requires_grad=True)
        net(x).pow(2).mean().backward()
        x.data = x.data + 0.1 * torch.sign(x.grad.data)
        {more}
        print(net(x).sum().item())
"""


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("x.data = x.data.clamp(min=-1, max=1)", []),  # kept within bounds: no gradient is used
        ("x.data.clamp_(-1, 1)", []),
        ("x.data = x.data + 0.1 * x.grad.data", ["SP405"]),
    ],
)
def test_a_step_by_hand_uses_a_gradient(tmp_path: Path, more: str, codes: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, BY_HAND.format(more=more))] == codes


GIVEN = """
    import torch

    def train(model, data, opt):
        losses = []
        for batch in data:
            loss = model(batch){part}
            opt.zero_grad()
            {passed}
            opt.step()
            losses.append({kept})
        print(sum(losses))
"""


@pytest.mark.parametrize("part", ["", '["loss"]', ".loss", ".mean()"])
@pytest.mark.parametrize(
    ("passed", "kept", "codes"),
    [
        ("loss.backward()", "loss", ["SP401"]),  # a pass began at it: it has history, whatever the network is
        ("loss.backward()", "loss.item()", []),
        ("loss.backward()", "loss.detach()", []),
        ("loss.backward()", "float(loss)", []),
        ("loss.backward()", "batch", []),
        ("sum([*losses, loss]).backward(retain_graph=True)", "loss", []),  # what is kept is walked again
    ],
)
def test_what_an_unread_network_gave_and_a_pass_began_at(
    tmp_path: Path, part: str, passed: str, kept: str, codes: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, GIVEN.format(part=part, passed=passed, kept=kept))] == codes


def test_further_on_in_data_there_is_more_of_it(tmp_path: Path) -> None:
    body = """
        class Filter:
            def __init__(self):
                self.state = torch.zeros(3)
            def __call__(self, x):
                self.state = self.state + net(x)
                return self.state
        smooth = Filter()
        def signal(n):
            for k in range(n):
                yield torch.randn(3), torch.zeros(3)
        rows = list(signal(64))
        for c in range(8):
            loss = 0.0
            for x, y in rows[c * 8 : (c + 1) * 8]:
                loss = loss + (smooth(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            {cut}
    """
    assert codes(tmp_path, body.format(cut="pass")) == ["SP103"]
    assert codes(tmp_path, body.format(cut="smooth.state = smooth.state.detach()")) == []


REGISTRY = """
    import {first}
    {then}
    from registry import KINDS
    import torch
    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(9, 2, 3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        KINDS["{kind}"]().after(loss)
        opt.step()
"""


@pytest.mark.parametrize(("kind", "found"), [("Again", ["SP101"]), ("Quiet", [])])
@pytest.mark.parametrize(
    ("first", "then"),
    [("parts", ""), ("importlib", "importlib.import_module('parts')"), ("torch", "from parts import Quiet")],
)
def test_what_a_module_enters_itself_into_when_it_is_imported(
    tmp_path: Path, first: str, then: str, kind: str, found: list[str]
) -> None:
    files = {
        "registry": """
            KINDS = {}
            def register(cls):
                KINDS[cls.__name__] = cls
                return cls
        """,
        "parts": """
            from registry import register
            @register
            class Again:
                def after(self, loss):
                    loss.backward()
            @register
            class Quiet:
                def after(self, loss):
                    print(loss.item())
        """,
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    (tmp_path / "main.py").write_text(textwrap.dedent(REGISTRY.format(first=first, then=then, kind=kind)))
    # All files, and the program alone.
    for paths in ([tmp_path], [tmp_path / "main.py"]):
        assert [f.code for f in read(paths, Settings(jobs=1)).findings] == found


@pytest.mark.parametrize("draw", ["random.random()", "random.Random(3).random()", "numpy.random.rand()"])
@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("{draw} < 0.3", ["SP103"]),
        ("0.3 < {draw}", ["SP103"]),
        ("{draw} < 1.0", []),  # cut in every turn
        ("{draw} < rate", []),  # perhaps cut in every turn
        ("not {draw} < 0", []),
        ("{draw} <= 0", ["SP103"]),
    ],
)
def test_a_draw_in_a_loop_falls_on_both_sides(tmp_path: Path, draw: str, when: str, found: list[str]) -> None:
    body = f"""
    import random, numpy, torch, json
    rate = json.load(open("rate.json"))
    cell = torch.nn.GRUCell(3, 3)
    opt = torch.optim.SGD(cell.parameters(), lr=0.1)
    h = torch.zeros(1, 3)
    for x in torch.randn(90, 1, 3):
        if {when.format(draw=draw)}:
            h = h.detach()
        h = cell(x, h)
        opt.zero_grad()
        h.pow(2).sum().backward()
        opt.step()
    """
    assert codes(tmp_path, body, "") == found


MEASURED = {
    "a pass is left out now and then": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    if loss.item() <= 2.0:
        opt.zero_grad()
        loss.backward()
    opt.step()
""",
        ["SP405"],
    ),
    "... and nothing is applied then": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    opt.zero_grad()
    if loss.item() <= 2.0:
        loss.backward()
    opt.step()
""",
        [],
    ),
    "the same is asked twice, the other way round": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    if loss.item() <= 2.0:
        opt.zero_grad()
        loss.backward()
    print(loss)
    if not loss.item() > 2.0:
        opt.step()
""",
        [],
    ),
    "the same is asked of the tensor": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    if loss <= 2.0:
        opt.zero_grad()
        loss.backward()
    if not (loss > 2.0):
        opt.step()
""",
        [],
    ),
    "a pass is left out by a tensor's truth": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    if loss <= 2.0:
        opt.zero_grad()
        loss.backward()
    if loss > 2.0:
        print("skipped")
    opt.step()
""",
        ["SP405"],
    ),
    "several numbers are asked at once": (
        """
for i, x in enumerate(data):
    loss = net(x).pow(2).sum()
    if abs(float(loss)) > 1.0 and (x > 0).float().mean() > 0.5:
        opt.zero_grad()
        loss.backward()
    opt.step()
""",
        ["SP405"],
    ),
    "the first is better than infinity": (
        """
best = float("inf")
for x in data:
    loss = net(x).pow(2).sum()
    if loss.item() < best:
        best = loss.item()
        kept = net(x)
    opt.zero_grad()
    (loss + kept.sum()).backward()
    opt.step()
""",
        ["SP104"],
    ),
    "what never changes": (
        """
scale = torch.ones(3)
for x in data:
    loss = net(x).pow(2).sum()
    if scale.max().item() > 0:
        opt.zero_grad()
        loss.backward()
    opt.step()
""",
        [],
    ),
    "a limit that may never be reached": (
        """
from somewhere import limit
for x in data:
    loss = net(x).pow(2).sum()
    if loss.item() < limit:
        opt.zero_grad()
        loss.backward()
    opt.step()
""",
        [],
    ),
    "a search that goes on by what it finds": (
        """
for x in data:
    loss = net(x).pow(2).sum()
    while True:
        opt.zero_grad()
        loss.backward()
        if net(x).sum() < loss - 1.0 or loss < 0.1:
            break
    opt.step()
""",
        ["SP101"],
    ),
    "what is left out for its data": (
        """
values = [None, None]
for x in data:
    loss = net(x).pow(2)
    for i in range(2):
        mask = x > i
        if not mask.any():
            continue
        values[i] = loss.sum() if values[i] is None else 0.9 * values[i] + loss.sum()
    opt.zero_grad()
    loss.sum().backward()
    opt.step()
""",
        ["SP401"],
    ),
    "what was drawn before the loop": (
        """
warm = torch.rand(1).item() > 0.5
for x in data:
    loss = net(x).pow(2).sum()
    if warm:
        opt.zero_grad()
        loss.backward()
    opt.step()
""",
        [],
    ),
    "a state that ends by its data": (
        """
h = torch.zeros(1, 3)
for x in data:
    h = torch.tanh(net(x) + h)
    loss = h.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if x.mean().item() > 0.5:
        h = torch.zeros(1, 3)
""",
        ["SP103"],
    ),
    "... and is cut otherwise": (
        """
h = torch.zeros(1, 3)
for x in data:
    h = torch.tanh(net(x) + h)
    loss = h.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    done = x.mean() > 0.5
    h = torch.zeros(1, 3) if done else h.detach()
""",
        [],
    ),
    "a pass now and then": (
        """
losses = []
for x in data:
    losses.append(net(x).pow(2).sum())
    if x.mean().item() > 0.5:
        opt.zero_grad()
        torch.stack(losses).sum().backward()
        opt.step()
    if x.mean().item() > 0.5:
        losses = []
""",
        [],
    ),
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_a_turn_computes_falls_on_both_sides(tmp_path: Path, name: str) -> None:
    body, found = MEASURED[name]
    assert codes(tmp_path, body, HEAD + "data = torch.randn(9, 1, 3)\n") == found
