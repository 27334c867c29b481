# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that the loss is made of, past a cut: what decides is that a pass walks what was computed with the value left."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_frameworks import found

SCALED = """
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 3)
            self.heat = nn.Parameter(torch.ones(()))

        def forward(self, x):
            t = {taken}
            return self.body(x) * t

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(20):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        {after}
"""


@pytest.mark.parametrize(
    "taken", ["min(self.heat.exp().item(), 9.0)", "-float(self.heat * 2)", "self.heat.exp().item()"]
)
def test_a_parameter_of_which_a_number_is_taken(tmp_path: Path, taken: str) -> None:
    assert found(tmp_path, SCALED.format(taken=taken, after="")) == [("SP406", f"t = {taken}")]


@pytest.mark.parametrize(
    ("taken", "after"),
    [
        ("self.heat.exp().clamp(max=9.0)", "print(net.heat.exp().item())"),
        ("1.0", "print(net.heat.exp().item())"),  # it is only looked at, no loss is made of it
        ("self.heat.exp().item()", "with torch.no_grad():\n            net.heat.add_(0.1)"),  # it is moved by hand
    ],
)
def test_a_number_that_is_no_part_of_the_loss(tmp_path: Path, taken: str, after: str) -> None:
    assert found(tmp_path, SCALED.format(taken=taken, after=after)) == []


CHOSEN = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    torch.manual_seed(0)

    class Router(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 4)
            self.out = nn.Linear(4, 1)
            self.rank = nn.Linear(3, 4)

        def forward(self, x):
            scores = self.gate(x)
            {chosen}
            return self.out(mask)

    net = Router()
    opt = torch.optim.SGD({parameters}, lr=0.1)
    for step in range(20):
        x = torch.randn(4, 3)
        loss = net(x).pow(2).mean()
        hits = (net.gate(x).argmax(1) == 0).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
_USED = "[p for n, p in net.named_parameters() if 'rank' not in n]"


@pytest.mark.parametrize("parameters", [_USED, "(p for n, p in net.named_parameters() if 'rank' not in n)"])
@pytest.mark.parametrize(
    "chosen",
    ["mask = F.one_hot(scores.argmax(1), 4).float()", "mask = (scores > 0).float()"],
)
def test_what_is_chosen_by_a_comparison(tmp_path: Path, chosen: str, parameters: str) -> None:
    assert [c for c, _ in found(tmp_path, CHOSEN.format(chosen=chosen, parameters=parameters))] == ["SP406"]


@pytest.mark.parametrize(
    "chosen",
    [
        "mask = F.one_hot(scores.argmax(1), 4) + scores - scores.detach()",
        "mask = scores.softmax(1) * F.one_hot(scores.argmax(1), 4)",
        "mask = F.gumbel_softmax(scores, hard=True)",
    ],
)
def test_what_is_chosen_by_a_comparison_and_has_history_by_another_way(tmp_path: Path, chosen: str) -> None:
    assert found(tmp_path, CHOSEN.format(chosen=chosen, parameters=_USED)) == []


PROJECTED = """
    import copy
    import torch
    from torch import nn

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 3).requires_grad_(False)
            self.head = nn.Linear(3, 3)

        def forward(self, x):
            with torch.no_grad():
                h = self.body(x){inside}
            return h{after}

    one, other = Tower(), nn.Linear(3, 3)
    {other}
    opt = torch.optim.SGD([*other.parameters(), *(p for p in one.parameters() if p.requires_grad)], lr=0.1)
    for step in range(20):
        x = torch.randn(4, 3)
        loss = (one(x) - other(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        {end}
"""


def test_a_head_under_no_grad_beside_what_is_frozen(tmp_path: Path) -> None:
    inside = PROJECTED.format(inside="\n                h = self.head(h)", after="", other="", end="")
    assert found(tmp_path, inside) == [("SP406", "h = self.head(h)")]
    assert found(tmp_path, PROJECTED.format(inside="", after=" + self.head(h)", other="", end="")) == []


def test_a_network_that_follows_another_is_not_trained(tmp_path: Path) -> None:
    end = "one.head.load_state_dict(other.state_dict())"
    following = PROJECTED.format(inside="\n                h = self.head(h)", after="", other="", end=end)
    assert found(tmp_path, following) == []
    copied = "one.head = copy.deepcopy(other)"
    assert (
        found(tmp_path, PROJECTED.format(inside="\n                h = self.head(h)", after="", other=copied, end=""))
        == []
    )


TWO_PLAYERS = """
    import torch
    from torch import nn

    maker, judge = nn.Linear(3, 3), nn.Linear(3, 1)
    for_maker = torch.optim.Adam(maker.parameters())
    for_judge = torch.optim.Adam(judge.parameters())
    for step in range(40):
        x = torch.randn(4, 3)
        {before}
        (judge(x) - judge(maker(x).detach())).mean().backward()
        for_judge.step()
        {between}
        (-judge(maker(x)).mean()).backward()
        for_maker.step()
        for_maker.zero_grad()
"""


def test_what_another_player_leaves_shows_in_few_turns(tmp_path: Path) -> None:
    left = TWO_PLAYERS.format(before="", between="for_judge.zero_grad()")
    assert [c for c, _ in found(tmp_path, left)] == ["SP403"]
    assert found(tmp_path, TWO_PLAYERS.format(before="for_judge.zero_grad()", between="")) == []
