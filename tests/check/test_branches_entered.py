# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is said that hangs on a branch which no reading has entered, or on what a library's object is thought to lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_interpreter import codes

COUNTED = """
    extra = nn.Linear(3, 3)
    side = torch.optim.SGD(extra.parameters(), lr=0.1)
    most = int(open("most").read())
    for x, counts in zip(torch.randn(9, 4, 3), torch.randint(3, (9, 4))):
        loss, other = net(x).sum(), torch.tensor(0.0)
        for n in counts.tolist():
            if {test}:
                other = other + {term}
        opt.zero_grad(); side.zero_grad()
        (loss + other).backward()
        opt.step(); side.step()
"""


@pytest.mark.parametrize(
    ("test", "term", "found"),
    [
        ("n > 0 and n <= most", "extra(x).sum()", []),
        ("n > 0 and not n > most", "extra(x).sum()", []),
        ("n > 0 and n <= most", "extra(x).sum().item()", ["SP406"]),
        ("n > 0", "extra(x).sum().item()", ["SP406"]),
    ],
)
def test_a_parameter_that_a_branch_trains_is_trained(tmp_path: Path, test: str, term: str, found: list[str]) -> None:
    assert codes(tmp_path, COUNTED.format(test=test, term=term)) == found


SWITCHED = """
    import json
    half = json.load(open("settings.json"))["half"]
    if half:
        import apex_like
        raise_or_train = apex_like.prepare(net)
    for x in torch.randn(9, 4, 3):
        opt.zero_grad()
        with {manager}:
            loss = net(x).sum()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("manager", "found"),
    [
        ("torch.autocast('cuda') if half else torch.no_grad()", []),
        ("torch.no_grad() if half else torch.no_grad()", ["SP301"]),
    ],
)
def test_a_switch_that_a_setting_decides_is_no_fault(tmp_path: Path, manager: str, found: list[str]) -> None:
    assert codes(tmp_path, SWITCHED.format(manager=manager)) == found


def test_what_a_progress_bar_can_do_is_its_own(tmp_path: Path) -> None:
    body = """
        from tqdm import tqdm
        class Batches:
            def __iter__(self):
                yield from torch.randn(9, 4, 3)
        kind = open("kind").read()
        bar = tqdm(Batches())
        for x in bar:
            loss = net(x).sum() if kind == "a" else torch.tensor(0.0)
            bar.set_postfix(loss=loss.item())
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    assert codes(tmp_path, body) == []


SPREAD = """
    params = torch.tensor([1.0, 0.0], requires_grad=True)
    opt = torch.optim.Adam([params], lr=0.1)
    def line(x, w, b):
        return w * x + b
    for x in torch.randn(9, 4):
        loss = line(x, *{given}).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(("given", "found"), [("params", []), ("params.detach()", ["SP301"])])
def test_a_tensor_spread_over_arguments_gives_its_parts(tmp_path: Path, given: str, found: list[str]) -> None:
    assert codes(tmp_path, SPREAD.format(given=given)) == found


NODES = """
    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            {saves}
            return (v > 0).float()
        @staticmethod
        def backward(ctx, g):
            return g
    for x in torch.randn(9, 4, 3):
        out = Spike.apply(net(x))
        node = out.grad_fn
        {before}
        opt.zero_grad()
        out.sum().backward()
        opt.step()
        {after}
"""


@pytest.mark.parametrize(
    ("saves", "before", "after", "found"),
    [
        ("ctx.save_for_backward(v)", "pass", "print(node.saved_tensors[0].mean())", ["SP108"]),
        ("ctx.save_for_backward(v)", "print(node.saved_tensors[0].mean())", "pass", []),
    ],
)
def test_saved_tensors_of_an_own_function(
    tmp_path: Path, saves: str, before: str, after: str, found: list[str]
) -> None:
    assert codes(tmp_path, NODES.format(saves=saves, before=before, after=after)) == found


SCHEDULE = """
    other = torch.optim.SGD(nn.Linear(3, 3).parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(other, 30)
    for turn in range(20):
        {train}
        other.step()
        schedule.step()
"""


@pytest.mark.parametrize(
    ("train", "found"),
    [("pass", []), ("net(torch.randn(4, 3)).sum().backward(); opt.step(); opt.zero_grad()", ["SP406"])],
)
def test_steps_without_passes_only_drive_a_schedule(tmp_path: Path, train: str, found: list[str]) -> None:
    assert codes(tmp_path, SCHEDULE.format(train=train)) == found


REFUSED = """
    x = torch.randn(3, requires_grad=True)
    y = {y}
    try:
        y.backward()
    except RuntimeError as error:
        print(error)
    y.backward({gradient})
"""


@pytest.mark.parametrize(("y", "gradient", "found"), [("x * x", "torch.ones(3)", []), ("(x * x).sum()", "", ["SP101"])])
def test_a_pass_may_be_refused_where_the_program_catches_that(
    tmp_path: Path, y: str, gradient: str, found: list[str]
) -> None:
    assert codes(tmp_path, REFUSED.format(y=y, gradient=gradient)) == found


HOOKED = """
    seen, last = {{}}, nn.Linear(3, 3)
    opt = torch.optim.SGD([*net.parameters(), *last.parameters()], lr=0.1)
    net.register_forward_hook(lambda module, args, out: {act})
    for x in torch.randn(9, 4, 3):
        loss = last(net(x)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("act", "found"),
    [
        ("seen.__setitem__(0, out.detach())", []),
        ("open('log', 'a').write(str(out.detach()))", []),
        ("out.detach()", ["SP406"]),
    ],
)
def test_what_a_hook_gives(tmp_path: Path, act: str, found: list[str]) -> None:
    assert codes(tmp_path, HOOKED.format(act=act)) == found


POOL = """
    import random
    pool, critic = [], nn.Linear(3, 1)
    other = torch.optim.SGD(critic.parameters(), lr=0.1)
    for turn, x in enumerate(torch.randn(9, 4, 3)):
        fake = net(x)
        opt.zero_grad()
        critic(fake).mean().backward()
        opt.step()
        pool.append({kept})
        if turn > 2:
            other.zero_grad()
            critic(torch.cat(random.sample(pool, 2))).mean().backward()
            other.step()
"""


@pytest.mark.parametrize(("kept", "found"), [("fake.detach()", []), ("fake", True)])
def test_what_is_drawn_from_a_list_has_its_history(tmp_path: Path, kept: str, found: list[str] | bool) -> None:
    assert (
        bool(codes(tmp_path, POOL.format(kept=kept))) if found is True else codes(tmp_path, POOL.format(kept=kept))
    ) == found


def test_a_method_that_is_not_called_has_no_backward(tmp_path: Path) -> None:
    body = """
        for x in torch.randn(9, 4, 3):
            loss = net(x).mean
            loss.backward(retain_graph=True)
            opt.step()
    """
    assert codes(tmp_path, body) == []


TURNED = """
    class Pose(nn.Module):
        def __init__(self):
            super().__init__()
            self.angle = nn.Parameter(torch.tensor(0.1))
            self.shift = nn.Parameter(torch.zeros(2))
        def forward(self, points):
            c, s = torch.cos(self.angle), torch.sin(self.angle)
            return points @ {matrix} + self.shift
    pose = Pose()
    opt = torch.optim.Adam(pose.parameters(), lr=0.1)
    for x in torch.randn(9, 4, 2):
        opt.zero_grad()
        pose(x).pow(2).sum().backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("matrix", "found"),
    [
        ("torch.tensor([[c, -s], [s, c]])", ["SP406"]),
        ("torch.stack([torch.stack([c, -s]), torch.stack([s, c])])", []),
        ("torch.tensor([[c.item(), 0.0], [0.0, 1.0]])", ["SP406"]),
    ],
)
def test_a_parameter_of_which_a_tensor_is_made_anew(tmp_path: Path, matrix: str, found: list[str]) -> None:
    assert codes(tmp_path, TURNED.format(matrix=matrix)) == found


@pytest.mark.parametrize("made", ["Pair(x=x)", "Pair({'x': x})", "Typed(x=x)", "dict(x=x)"])
def test_a_dictionary_of_a_class_of_its_own(tmp_path: Path, made: str) -> None:
    body = f"""
        from typing import TypedDict
        class Pair(dict):
            pass
        class Typed(TypedDict):
            x: torch.Tensor
        for x in torch.randn(9, 4, 3):
            batch = {made}
            opt.zero_grad()
            net(batch["x"]).sum().backward(retain_graph=True)
            opt.step()
    """
    assert codes(tmp_path, body) == ["SP402"]
