# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: what a function saves is thrown away and computed again when a pass needs it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..autograd import Function, saved_tensors_hooks
from ..graph import INPUT, GraphError, Node
from ..passes import backward as walk_back
from ..random import default_generator
from ..tensors import Tensor
from ..thread_state import enable_grad, state

__all__ = ["checkpoint"]


@contextlib.contextmanager
def _again(random: Any) -> Iterator[None]:
    """Records, and draws the random numbers that were drawn before."""
    before = default_generator.get_state()
    if random is not None:
        default_generator.set_state(random)
    try:
        with enable_grad():
            yield
    finally:
        default_generator.set_state(before)


class _Enough(Exception):
    """Everything that was saved has been computed again."""


class _Frame:
    """One checkpointed call: how many buffers it had, and those that the pass at hand has computed again."""

    def __init__(self, function: Callable[[], Any], random: Any, inputs: list[Tensor]) -> None:
        self.function, self.random = function, random
        self.inputs = Node("_NoopSaveInputsBackward", ())
        self.inputs.saved = [("input", INPUT, t, t._c, t._c.count, None) for t in inputs]
        self.count = 0
        self.walk: Any = None
        self.found: dict[int, Any] = {}

    def pack(self, tensor: Any) -> int:
        self.count += 1
        return self.count - 1

    def unpack(self, position: int) -> Any:
        # NOTE: computed once per pass, even where the graph is retained: the next pass computes it again.
        walk = state.walk if state.walk is not None else object()
        if self.walk is not walk:
            self.walk, self.found = walk, {}
            self.recompute()
        if position not in self.found:
            raise GraphError(
                "torch.utils.checkpoint: a tensor that was saved in the forward was not computed again, or was asked "
                f"for twice in one pass (tensor {position} of {self.count}).",
            )  # fmt: skip
        return self.found.pop(position)

    def recompute(self) -> None:
        for entry in self.inputs.saved:
            self.inputs.check(entry)

        def collect(tensor: Any) -> None:
            self.found[len(self.found)] = tensor.detach()
            if len(self.found) == self.count:
                raise _Enough

        with contextlib.suppress(_Enough), _again(self.random), saved_tensors_hooks(collect, lambda _: None):
            self.function()


class CheckpointFunction(Function):
    """The older way: the whole call is one node, which runs a pass of its own."""

    @staticmethod
    def forward(ctx: Any, run: Any, random: Any, *args: Any) -> Any:
        ctx.run, ctx.random = run, random
        ctx.plain = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(a if isinstance(a, Tensor) else None for a in args))
        return run(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Runs again, recording, and sends the gradient through."""
        if state.walk is not None and state.walk.inputs is not None:
            raise GraphError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). Use use_reentrant=False.",
            )  # fmt: skip
        args = [t if t is None else t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        args = [plain if t is None else t for t, plain in zip(args, ctx.plain, strict=True)]
        with _again(ctx.random):
            found = ctx.run(*args)
        outputs = found if isinstance(found, tuple) else (found,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise GraphError("none of output has requires_grad=True, this checkpoint() is not necessary")
        walk_back([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a._grad if isinstance(a, Tensor) else None for a in args))


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Runs a function without keeping what it saves."""
    random = default_generator.get_state() if preserve_rng_state else None
    if (use_reentrant is None or use_reentrant) and not kwargs:
        return CheckpointFunction.apply(function, random, *args)
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    frame = _Frame(lambda: function(*args, **kwargs), random, tensors)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)
