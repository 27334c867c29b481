# SPDX-License-Identifier: BSD-3-Clause

"""Modules and optimizers: the same training as with PyTorch, from the same seed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import secondpass.autograd as torch

MODELS = {
    "mlp": "nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4))",
    "activations": "nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.SiLU(), nn.LeakyReLU(0.1), nn.Sigmoid(), nn.Softmax(dim=-1))",
    "rnn": "nn.RNNCell(6, 4)",
    "gru": "nn.GRUCell(6, 4)",
    "relu rnn": "nn.RNNCell(6, 4, nonlinearity='relu')",
}
OPTIMIZERS = [
    "SGD(p, lr=0.1)", "SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)", "SGD(p, lr=0.1, momentum=0.9, nesterov=True)",
    "Adam(p, lr=0.01)", "Adam(p, lr=0.01, weight_decay=0.1)", "AdamW(p, lr=0.01)",
]  # fmt: skip


def trained(lib: Any, model: str, optimizer: str, loss: str) -> list[float]:
    lib.manual_seed(0)
    net = eval(model, {"nn": lib.nn})
    opt = eval(f"optim.{optimizer}", {"optim": lib.optim, "p": net.parameters()})
    schedule = lib.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
    x, y = lib.randn(5, 6), lib.randn(5, 4)
    found = []
    for _ in range(5):
        opt.zero_grad()
        value = eval(loss, {"nn": lib.nn, "out": net(x), "y": y, "torch": lib})
        value.backward()
        lib.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        schedule.step()
        found.append(value.item())
    return found


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_models_train_alike(model: str) -> None:
    ours, theirs = (trained(lib, model, "SGD(p, lr=0.1)", "nn.MSELoss()(out, y)") for lib in (torch, pytorch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_step_alike(optimizer: str) -> None:
    ours, theirs = (trained(lib, MODELS["mlp"], optimizer, "nn.MSELoss()(out, y)") for lib in (torch, pytorch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("loss", [
    "nn.CrossEntropyLoss()(out, y.argmax(1))", "nn.BCEWithLogitsLoss()(out, y.sigmoid())", "nn.L1Loss()(out, y)",
    "nn.SmoothL1Loss()(out, y)", "nn.NLLLoss()(out.log_softmax(1), y.argmax(1))", "nn.CrossEntropyLoss()(out, y.softmax(1))",
    "nn.CrossEntropyLoss(ignore_index=0)(out, y.argmax(1))", "nn.functional.l1_loss(out, y, reduction='sum')",
])  # fmt: skip
def test_losses_are_alike(loss: str) -> None:
    ours, theirs = (trained(lib, MODELS["mlp"], "SGD(p, lr=0.1)", loss) for lib in (torch, pytorch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x) * self.scale
        return x


def test_parameters_have_dotted_names() -> None:
    assert [n for n, _ in Own().named_parameters()] == [
        "scale", "blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias"
    ]  # fmt: skip


def test_state_goes_out_and_comes_back() -> None:
    a, b = Own(), Own()
    b.load_state_dict(a.state_dict())
    x = torch.randn(3, 2)
    assert torch.equal(a(x), b(x))
    with pytest.raises(RuntimeError, match="missing"):
        b.load_state_dict({})


def test_a_copy_shares_nothing() -> None:
    a = Own()
    b = copy.deepcopy(a)
    with torch.no_grad():
        b.scale.add_(1)
    assert a.scale.tolist() == [1, 1]


def test_dropout_only_while_training() -> None:
    drop, x = torch.nn.Dropout(0.5), torch.ones(1000)
    out = drop(x)
    assert set(out.tolist()) == {0.0, 2.0}
    assert drop.eval()(x) is x


def test_a_parameter_is_not_replaced_by_a_plain_tensor() -> None:
    with pytest.raises(TypeError):
        Own().scale = torch.ones(2)
