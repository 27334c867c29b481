# SPDX-License-Identifier: BSD-3-Clause
"""Functions that compute with NumPy, written with torch."""

from __future__ import annotations

import textwrap

import pytest

from secondpass.remedies.edit.source import Source
from secondpass.remedies.rewrite.numpy import translated

PAIRS = {
    "names that keep what they have": (
        """
        first, second = first.detach().numpy(), second.numpy()
        return torch.tensor(np.exp(first - second).mean())
        """,
        """
        return torch.exp(first - second).mean()
        """,
    ),
    "a list of tensors is stacked": (
        """
        values = [np.sqrt(row.detach().numpy()).sum() for row in rows]
        return torch.tensor(np.mean(values))
        """,
        """
        values = [torch.sqrt(row).sum() for row in rows]
        return torch.mean(torch.stack(values))
        """,
    ),
    "a list of numbers is a tensor": (
        """
        weights = np.array([0.5, -1.0])
        return torch.from_numpy(weights * out.detach().numpy())
        """,
        """
        weights = torch.tensor([0.5, -1.0])
        return weights * out
        """,
    ),
    "two series are two rows": (
        """
        here = out.detach().cpu().numpy()
        return torch.tensor(1 - np.corrcoef(here, target.numpy())[0, 1])
        """,
        """
        here = out
        return 1 - torch.corrcoef(torch.stack((here, target)))[0, 1]
        """,
    ),
    "what is joined stays a list": (
        """
        joined = np.concatenate([a.detach().numpy(), b.detach().numpy()], axis=1)
        return torch.tensor(joined.sum())
        """,
        """
        joined = torch.cat([a, b], dim=1)
        return joined.sum()
        """,
    ),
}


def function(body: str) -> str:
    return "import numpy as np\nimport torch\n\n\ndef score(*arguments):\n" + textwrap.indent(
        textwrap.dedent(body).strip("\n") + "\n", "    "
    )


@pytest.mark.parametrize("name", PAIRS)
def test_translation(name):
    before, after = map(function, PAIRS[name])
    source = Source("score.py", before)
    [patch] = translated(source, source.functions[0])
    [text] = patch.result().values()
    assert text == after


@pytest.mark.parametrize(
    "body",
    ["return torch.tensor(np.histogram(out.detach().numpy())[0].max())", "return np.float64(3)", "return out.detach()"],
)
def test_what_torch_does_not_have_is_left_alone(body):
    source = Source("score.py", function(body))
    assert list(translated(source, source.functions[0])) == []
