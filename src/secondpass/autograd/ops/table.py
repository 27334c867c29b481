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
4. What is no tensor (sizes, dimensions, numbers) is a parameter: it follows the inputs in the signature of the value,
   is an attribute of the node, and is never freed.

NOTE [ Derivatives ]
1. `grads` maps an input to `formula(F, g, node, *buffers)`. Its keys, in order, are the node's edges; None stands for
   an edge through which nothing flows.
2. `F` is the table itself seen as a namespace: over plain arrays when nobody differentiates the pass again, over
   recording tensors under `create_graph`. One formula serves all orders, and so do Python's operators between tensors.
   Numbers need a row of their own (`mul_scalar`), as in PyTorch's formulas, since those save nothing.
3. A node with several outputs gets a list of gradients, with None for those that nothing reached. The formula under the
   key `grad` answers for all edges at once, where there is a list of them or there are several outputs and inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

__all__ = ["OPS", "Op", "define", "np", "values"]

Formula = Callable[..., Any]


class _Numpy:
    """NumPy, imported when it is first needed; each name is looked up once."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


np: Any = _Numpy()
values: Any = SimpleNamespace()  # the operations over plain arrays


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table."""

    name: str
    node: str  # PyTorch's name of the node
    inputs: tuple[str, ...]
    value: Callable[..., Any] = field(repr=False)
    saves: dict[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()  # the inputs a gradient can flow to, in the order of `next_functions`
    formulas: tuple[Formula | None, ...] = field(default=(), repr=False)  # the derivatives by edge
    whole: Formula | None = field(default=None, repr=False)  # the formula for all edges at once
    view: bool = False  # the result shares its input's memory and version
    several: bool = False  # the result is a tuple
    integral: tuple[int, ...] = ()  # outputs that never have a gradient (indices)
    notes: Callable[..., dict[str, Any]] | None = field(default=None, repr=False)
    """What a node writes down of its inputs beside their shapes."""
    star: int = -1  # position of the input that takes the rest, or -1
    params: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    plan: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    """`saves` by position: (input or -1, output or -1, guarding edge or -1)."""
    at: tuple[int, ...] = ()  # positions of `edges` among `inputs`; empty where they are the same

    def saved(self, needs: Collection[str]) -> tuple[str, ...]:
        """Names of the buffers a node keeps when these of its inputs need a gradient; () when none does."""
        if not any(name in needs for name in self.edges):
            return ()
        return tuple(name for name, guard in self.saves.items() if not guard or guard in needs)


OPS: dict[str, Op] = {}


def define(
    name: str, node: str, inputs: str, value: Any, saves: dict[str, str] | str = "", /, *, outputs: str = "result",
    view: bool = False, several: bool = False, integral: tuple[int, ...] = (), notes: Any = None,
    grad: Formula | None = None, **grads: Formula | None,
) -> None:  # fmt: skip
    """Adds a row. A plain string of `saves` names buffers that are always saved; `outputs` names what can be saved.

    `grad` is short for the derivative of the first input, or of all of them: see NOTE [ Derivatives ] 3.
    """
    rule = dict.fromkeys(saves.split(), "") if isinstance(saves, str) else saves
    names = tuple(n.lstrip("*") for n in inputs.split())
    star = next((i for i, n in enumerate(inputs.split()) if n.startswith("*")), -1)
    whole = grad if star == 0 or (several and len(names) > 1) else None
    if whole is not None:
        grads = dict.fromkeys(names)
    elif grad is not None:
        grads = {names[0]: grad, **grads}
    edges, results, code = tuple(grads), outputs.split(), value.__code__
    plan = tuple(
        (names.index(n) if n in names else -1, -1 if n in names else results.index(n), edges.index(g) if g else -1)
        for n, g in rule.items()
    )
    params = code.co_varnames[len(names) : code.co_argcount] if star < 0 else ()
    given = value.__defaults__ or ()
    defaults = dict(zip(params[len(params) - len(given) :], given, strict=True)) if star < 0 else value.__kwdefaults__
    OPS[name] = Op(
        name, node, names, value, rule, edges, tuple(grads.values()), whole, view, several, integral, notes, star,
        params, defaults or {}, plan, tuple(names.index(n) for n in edges) if edges != names else (),
    )  # fmt: skip
    setattr(values, name, value)
