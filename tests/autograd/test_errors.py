# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501  tables of expressions
"""Bad input: the class of error that PyTorch raises, with a text that says what, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import secondpass.autograd as torch

BAD = [
    "ones(2, 3) + ones(4)", "ones(2, 3) @ ones(2, 3)", "ones(2, 3).view(7)", "ones(2, 3).t().view(6)", "ones(2, 3)[5]",
    "ones(2, 3).sum(4)", "ones(2).transpose(0, 3)", "torch.cat([ones(2), ones(2, 2)])", "torch.stack([ones(2), ones(3)])",
    "torch.tensor([1, 2], requires_grad=True)", "torch.tensor([1]).requires_grad_()", "torch.tensor([1, 2]).mean()",
    "ones(2).backward()", "ones(2, requires_grad=True).backward()", "ones(1).sum().backward()",
    "leaf.sum().backward(ones(3))", "leaf.sum().backward(2.0)", "leaf.add_(1)", "leaf[0].add_(1)", "leaf.data.expand(2, 2).add_(1)",
    "torch.autograd.grad(leaf.sum(), ones(2))", "torch.autograd.grad(leaf.sum(), other)", "leaf.numpy()", "bool(leaf)",
    "leaf.item()", "(leaf * 2).detach()[None].squeeze(5)", "leaf.clamp()", "ones(2).add_(ones(3, 2))", "torch.tensor([1]).add_(0.5)",
    "torch.tensor([1]).div_(2)", "(leaf * 1).requires_grad_(False)", "leaf[0].detach_()", "ones(2).retain_grad()",
    "ones(2).register_hook(print)", "leaf.unbind()[0].add_(1)", "list(leaf.sum())", "ones(2).split(1)[0].squeeze(3)",
    "torch.nn.Linear(2, 2)(ones(3))", "torch.nn.Linear(2, 2)(ones(1, 2).double())", "torch.optim.SGD([], lr=0.1)",
    "torch.optim.SGD([leaf * 2], lr=0.1)", "torch.optim.SGD(leaf, lr=0.1)", "torch.optim.SGD([leaf], lr=-1)",
    "torch.optim.Adam([leaf], betas=(2, 0))", "torch.nn.functional.dropout(leaf, 2.0)", "torch.nn.MSELoss(reduction='odd')(leaf, leaf)",
    "torch.nn.functional.nll_loss(ones(2, 3), torch.tensor([0, 5]))", "torch.nn.functional.embedding(torch.tensor([9]), ones(2, 2))",
    "torch.nn.Module()(1)", "torch.randn(2, nonsense=1)", "torch.no_such_function(1)", "leaf.no_such_method()", "leaf.sum().backward(retain=True)",
    "torch.randn(-1)", "torch.from_numpy([1])", "ones(3).copy_(ones(1, 3))", "leaf ** 'a'", "leaf + 'a'", "setattr(leaf, 'grad', ones(5))", "setattr(leaf, 'grad', 1)",
    "torch.nn.functional.layer_norm(leaf, (5,))", "leaf.sum().backward(inputs=[])", "torch.einsum('ij,jk->ik', leaf)",
]  # fmt: skip


def failure(lib: Any, expression: str) -> str:
    scope = {
        "torch": lib,
        "ones": lib.ones,
        "leaf": lib.ones(2, requires_grad=True),
        "other": lib.ones(2, requires_grad=True),
    }
    try:
        eval(expression, scope)
    except Exception as error:
        return type(error).__name__
    return "none"


@pytest.mark.parametrize("expression", BAD)
def test_bad_input_raises_pytorchs_class(expression: str) -> None:
    theirs = failure(pytorch, expression)
    assert theirs != "none"
    assert failure(torch, expression) == theirs


MESSAGES = {
    "backward-twice": """
        h = (w * x).tanh()
        h.sum().backward()
        (h * 2).sum().backward()
    """,
    "inplace": """
        y = (w * w).sum()
        with torch.no_grad():
            w.sub_(0.1)
        y.backward()
    """,
    "no-history": """
        y = (w * x).detach()
        y.sum().backward()
    """,
    "not-a-scalar": "(w * x).backward()",
    "leaf": "w.add_(1)",
    "several-views": """
        parts = (w * x).unbind()
        parts[0].add_(1)
    """,
}


@pytest.mark.parametrize("name", MESSAGES)
def test_whole_message(name: str, golden: Callable[[str, str], None]) -> None:
    import textwrap

    body = textwrap.dedent(MESSAGES[name]).strip()
    source = f"w = torch.ones(2, requires_grad=True)\nx = torch.ones(2)\n{body}\n"
    torch.autograd.backward(torch.ones(1, requires_grad=True).sum())
    start = torch.thread_state.state.walks
    with pytest.raises(RuntimeError) as caught:
        exec(compile(source, "train.py", "exec"), {"torch": torch})
    # Passes are numbered over the whole process: here from this program's first.
    text = str(caught.value)
    for number in range(start + 1, torch.thread_state.state.walks + 1):
        text = text.replace(f"by pass {number},", f"by pass {number - start},")
    golden(f"autograd/{name}.txt", f"{source}\n---\n{text}\n")
