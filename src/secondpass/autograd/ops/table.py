# SPDX-License-Identifier: BSD-3-Clause
"""What an operation is, as data.

`OPS[name]` says of each operation the name of PyTorch's node, its inputs, what the node saves, its value and its
derivatives. Reading the table needs no NumPy: the values load it when the first of them is computed.

    >>> op = OPS["mul"]
    >>> op.node, op.inputs, op.edges
    ('MulBackward0', ('self', 'other'), ('self', 'other'))
    >>> op.saved({"self"})              # only `self` needs a gradient: `other` is kept for it
    ('other',)
    >>> OPS["add"].saved({"self"})      # saves nothing: never raises on a second pass
    ()

NOTE [ What a node saves ]
1. `saves` maps the name of a buffer to the one input whose derivative reads it, or to "" when several do: such a buffer
   is saved whenever there is a node at all.
2. A name that is an input is saved as that input (with its history); any other name is an output.
3. An input written `*name` takes the rest of the arguments; a buffer of that name is a list.
4. What is no tensor (sizes, dimensions, numbers) lives in `node.params` and is never freed.

NOTE [ Derivatives ]
1. `grads` maps an input to `formula(F, g, node, *buffers)`. Its keys, in order, are the node's edges; None stands for
   an edge through which nothing flows.
2. `F` is the table itself seen as a namespace: over plain arrays when nobody differentiates the pass again, over
   recording tensors under `create_graph`. One formula serves all orders.
3. A node with several outputs gets a list of gradients, with None for those that nothing reached. The formula under the
   key "*" answers for all edges at once, with None for those of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

__all__ = ["OPS", "Namespace", "Op", "define", "np", "values"]

Formula = Callable[..., Any]


class _Numpy:
    """NumPy, imported when it is first needed; each name is looked up once."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


class Namespace:
    """The table's operations as attributes; filled by whoever can compute them."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no operation {name!r}")


np: Any = _Numpy()
values: Any = Namespace()
"""The operations over plain arrays."""


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table."""

    name: str
    node: str
    """PyTorch's name of the node."""
    inputs: tuple[str, ...]
    value: Callable[..., Any] = field(repr=False)
    grads: dict[str, Formula | None] = field(default_factory=dict, repr=False)
    saves: dict[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("result",)
    """Names of the outputs that can be saved."""
    view: bool = False
    """The result shares its input's memory and version."""
    several: bool = False
    """The result is a tuple."""
    integral: tuple[int, ...] = ()
    """Outputs that never have a gradient (indices)."""
    plan: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    """`saves` by position: (input or -1, output or -1, guarding edge or -1)."""
    star: int = -1
    """Position of the input that takes the rest, or -1."""
    whole: Formula | None = field(default=None, repr=False)
    """The formula for all edges at once."""
    edges: tuple[str, ...] = ()
    """The inputs a gradient can flow to, in the order of `next_functions`."""
    formulas: tuple[Formula | None, ...] = field(default=(), repr=False)
    """The derivatives by edge."""
    matrices: int = 0
    """How many dimensions the last two inputs must have, or 0."""
    at: tuple[int, ...] = ()
    """Positions of `edges` among `inputs`; empty where they are the same."""

    def saved(self, needs: Collection[str]) -> tuple[str, ...]:
        """Names of the buffers a node keeps when these of its inputs need a gradient; () when none does."""
        if not any(name in needs for name in self.edges):
            return ()
        return tuple(name for name, guard in self.saves.items() if not guard or guard in needs)


OPS: dict[str, Op] = {}


def define(
    name: str,
    node: str,
    inputs: str,
    value: Callable[..., Any],
    saves: dict[str, str] | str = "",
    /,
    *,
    outputs: str = "result",
    view: bool = False,
    several: bool = False,
    integral: tuple[int, ...] = (),
    matrices: int = 0,
    grad: Formula | None = None,
    **grads: Formula | None,
) -> None:
    """Adds a row. `grad` is short for the derivative of the first input, or of all of them where a `*` is among them.

    A plain string of `saves` names buffers that are always saved.
    """
    rule = dict.fromkeys(saves.split(), "") if isinstance(saves, str) else saves
    names = tuple(n.lstrip("*") for n in inputs.split())
    star = next((i for i, n in enumerate(inputs.split()) if n.startswith("*")), -1)
    whole = None
    if grad is not None and (star == 0 or (several and len(names) > 1)):
        whole = grad
        grads = dict.fromkeys(names)
    elif grad is not None:
        grads = {names[0]: grad, **grads}
    edges = tuple(grads)
    results = tuple(outputs.split())
    plan = tuple(
        (names.index(n) if n in names else -1, -1 if n in names else results.index(n), edges.index(g) if g else -1)
        for n, g in rule.items()
    )
    OPS[name] = Op(
        name, node, names, value, grads, rule, results, view, several, integral, plan, star, whole, edges,
        tuple(grads.values()), matrices, tuple(names.index(n) for n in edges) if edges != names else (),
    )  # fmt: skip
    setattr(values, name, value)
