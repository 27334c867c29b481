# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a line the carets point at."""

from __future__ import annotations

import pytest

from secondpass.render._source_lines import span_of_call, span_of_code, span_of_name


def part(line, span):
    return line[slice(*span)] if span else None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    x = 1  # one", "x = 1"),
        ("    x = '#'  # one", "x = '#'"),
        ("# only this", "# only this"),
        ("", ""),
    ],
)
def test_code(line, expected):
    assert part(line, span_of_code(line)) == expected


@pytest.mark.parametrize(
    ("line", "name", "start"),
    [
        ("h = f(h)", "h", 0),  # the assignment before the use
        ("out, h = f(h)", "h", 5),
        ("f(h, k=h)", "h", 2),
        ("if h == g(h):", "h", 3),
        ("self.h = h", "self.h", 0),
        ("graph = h", "h", 8),
        ("buffer.append(h)", "buffer[...]", 0),
        ("x = 1  # h", "h", None),
        ("x = other.h", "h", None),
    ],
)
def test_name(line, name, start):
    span = span_of_name(line, name)
    assert (span[0] if span else None) == start


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    (a + b).backward()", ".backward()"),
        ("self.losses['d'].backward(retain_graph=f(x)); step()", "self.losses['d'].backward(retain_graph=f(x))"),
        ("g, = torch.autograd.grad(y, x)[0]", "torch.autograd.grad(y, x)"),
        ("loss.backward(", "loss.backward("),
        ("opt.zero_grad()", None),
    ],
)
def test_call(line, expected):
    assert part(line, span_of_call(line, "backward", "grad")) == expected


def test_two_calls_on_one_line():
    line = "    a.backward(); b.backward()  # c.backward()"
    assert part(line, span_of_call(line, "backward")) == "a.backward()"
    assert part(line, span_of_call(line, "backward", last=True)) == "b.backward()"
