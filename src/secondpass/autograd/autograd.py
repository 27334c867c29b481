# SPDX-License-Identifier: BSD-3-Clause
"""`torch.autograd`: passes from functions, hooks on what is saved, and functions of one's own.

NOTE [ What the engine owns ]
Only what `save_for_backward` was given is freed by a pass and checked for changes. What a user puts on `ctx` stays:
such a node can be walked any number of times, and nobody notices when it was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .graph import INPUT, GraphError, Node, Saved
from .methods import Tensor
from .passes import backward, grad
from .tensors import edge_of
from .thread_state import enable_grad, no_grad, set_grad_enabled, state

__all__ = ["Function", "Variable", "backward", "enable_grad", "grad", "graph", "no_grad", "set_grad_enabled"]

Variable = Tensor


class saved_tensors_hooks:
    """Hands what nodes save to `pack`, and what that returned to `unpack`; the innermost pair acts."""

    def __init__(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        self.pair = (pack, unpack)

    def __enter__(self) -> None:
        state.hooks = (*state.hooks, self.pair)

    def __exit__(self, *_: object) -> None:
        state.hooks = state.hooks[:-1]


graph = SimpleNamespace(saved_tensors_hooks=saved_tensors_hooks)


class FunctionNode(Node):
    """The node of a function of one's own, and its `ctx`."""

    def __init__(self, function: type[Function], inputs: Sequence[Any]) -> None:
        self.slots = [i for i, t in enumerate(inputs) if isinstance(t, Tensor)]
        """Which arguments are tensors: the others have no edge."""
        super().__init__(f"{function.__name__}Backward", [edge_of(inputs[i]) for i in self.slots])
        self.function = function
        self.needs_input_grad = tuple(isinstance(t, Tensor) and t.requires_grad for t in inputs)
        self.to_save: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for the backward, until a pass frees them."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        if self.freed:
            self.asked()
            raise self.twice()
        return tuple(self._unpack(entry) for entry in self.saved)

    def _unpack(self, entry: Saved) -> Any:
        self.check(entry)
        if entry[1] == INPUT:
            return entry[2]
        t = Tensor(entry[2])
        t._c, t._fn, t._nr = entry[3] or t._c, self, entry[1]
        return t

    def keep(self, outputs: list[Any]) -> None:
        """Turns what the user wants saved into buffers: see NOTE [ The life of a saved tensor ] 2 of `lifecycle`."""
        where = {id(t): nr for nr, t in enumerate(outputs) if isinstance(t, Tensor) and t._fn is self}
        kept: list[Saved] = []
        for t in self.to_save:
            if t is None:
                kept.append(("saved_tensors", INPUT, None, None, 0, None))
            else:
                nr = where.get(id(t), INPUT)
                kept.append(("saved_tensors", nr, t if nr == INPUT else t._a, t._c, t._c.count, None))
        self.saved, self.to_save = kept, ()

    def apply(self, grads: list[Any], needed: Sequence[bool], walk: Any) -> Sequence[Any]:
        """The user's backward."""
        full = [np.zeros(*m) if g is None else g for g, m in zip(grads, self.meta, strict=True)]
        given = [g if isinstance(g, Tensor) else Tensor(np.asarray(g)) for g in full]
        with set_grad_enabled(walk.create):
            found = self.function.backward(self, *given)
        out = list(found) if isinstance(found, tuple) else [found]
        expected = len(self.needs_input_grad)
        while len(out) > expected and out[-1] is None:
            out.pop()
        if len(out) != expected:
            text = f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got {len(out)})"
            raise GraphError(text, node=self)
        wrong = [type(g).__name__ for g in out if g is not None and not isinstance(g, Tensor)]
        if wrong:
            raise GraphError(f"function {self.name()} returned a {wrong[0]}, a Tensor was expected", node=self)
        return [out[i] if out[i] is None or walk.create else out[i]._a for i in self.slots]


class Function:
    """A function with a derivative of one's own: `forward(ctx, ...)` and `backward(ctx, *grads)`."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for a custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """One gradient for each argument of `forward`, None where there is none."""
        raise NotImplementedError("You must implement the backward for your custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs the forward and records it."""
        node = FunctionNode(cls, args)
        recorded = state.enabled and any(node.needs_input_grad)
        with no_grad():
            found = cls.forward(node, *args)
        outputs = list(found) if isinstance(found, tuple) else [found]
        for nr, out in enumerate(outputs):
            if isinstance(out, Tensor):
                if any(out is a for a in args):
                    outputs[nr] = Tensor(out._a)
                    outputs[nr]._c = out._c
                if recorded and out._a.dtype.kind == "f":
                    outputs[nr]._base, outputs[nr]._made = None, ""
                    outputs[nr]._fn, outputs[nr]._nr = node, nr
        if recorded:
            node.meta = [(t._a.shape, t._a.dtype) if isinstance(t, Tensor) else ((), None) for t in outputs]
            node.keep(outputs)
            if state.listener is not None:
                state.listener.node(node)
        return tuple(outputs) if isinstance(found, tuple) else outputs[0]
