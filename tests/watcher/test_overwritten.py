# SPDX-License-Identifier: BSD-3-Clause
"""An output of a CUDA graph that was read too late is named, with where it was made. (On a GPU: test_cuda_graphs.)"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import secondpass
from secondpass.session.session import Session

MESSAGE = (
    "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
    'Stack trace:   File "/site-packages/torch/nn/modules/linear.py", line 130, in forward\n    return linear(x)\n'
    '  File "{file}", line {line}, in region\n    return x * 2\n. To prevent overwriting, clone the tensor outside of '
    "torch.compile() or call torch.compiler.cudagraph_mark_step_begin() before each model invocation."
)


def region(x: torch.Tensor) -> torch.Tensor:
    return x * 2


# What PyTorch does: in a file that is not the user's.
LIBRARY = """
import torch

class Gone(torch.Tensor):
    message = ""

    def data_ptr(self):
        raise RuntimeError(self.message)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        (args[0] if isinstance(args[0], Gone) else args[0][0]).data_ptr()
"""
NAMES: dict[str, Any] = {}
exec(compile(LIBRARY, "/site-packages/torch/graphs.py", "exec"), NAMES)
NAMES["Gone"].message = MESSAGE.format(file=__file__, line=region.__code__.co_firstlineno + 1)


def gone() -> torch.Tensor:
    return torch.ones(2).as_subclass(NAMES["Gone"])


def read_in_a_list(fresh: torch.Tensor) -> None:
    kept = [gone(), gone()]
    torch.stack(kept)


def read_by_name(fresh: torch.Tensor) -> None:
    state = {"h": gone()}
    torch.add(state["h"], fresh)


@pytest.mark.parametrize(("read", "name"), [(read_in_a_list, "kept"), (read_by_name, "state['h']")])
def test_what_was_read_is_named(read, name) -> None:
    watched: list[Session] = []
    with pytest.raises(RuntimeError) as raised, secondpass.watch(quiet=True) as session:
        watched.append(session)
        read(torch.ones(2))
    [finding] = watched[0].findings
    assert (finding.code, finding.cause) == ("SP505", "overwritten-output")
    assert finding.carrier is not None and finding.carrier.name == name
    assert finding.failed is not None and finding.failed.function == read.__name__
    assert finding.built is not None and finding.built.function == "region"
    assert finding.built.line == region.__code__.co_firstlineno + 1
    assert [r.kind for r in finding.remedies] == ["clone", "other"]
    assert "SP505" in "".join(raised.value.__notes__)


def test_a_gradient_is_no_output() -> None:
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with pytest.raises(RuntimeError), secondpass.watch(quiet=True) as session:
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        net.bias.grad = torch.ones(1).as_subclass(NAMES["Gone"])
        torch.stack([net.bias.grad])  # as the engine does where it adds the next gradient
    [finding] = session.findings
    assert "A gradient that a compiled region has made" in finding.message


def test_a_message_alone_is_no_name() -> None:
    with pytest.raises(RuntimeError), secondpass.watch(quiet=True) as session:
        raise RuntimeError(MESSAGE.format(file=__file__, line=1).replace("tensor output", "gradient tensor output"))
    [finding] = session.findings
    assert finding.carrier is None and "A gradient" in finding.message
    assert [r.kind for r in finding.remedies] == ["other"]
