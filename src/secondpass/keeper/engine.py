# SPDX-License-Identifier: BSD-3-Clause
"""Seeing every pass: the one function through which `backward` and `grad` reach PyTorch's engine.

NOTE [ A pass over a kept call ]
1. The engine is asked to retain. What does not belong to a kept call is let go afterwards, as PyTorch would have done,
   and raises PyTorch's error when a later pass needs it.
2. Only nodes that the pass executed are let go: with `inputs=`, those on a path to one of them.
3. The function is replaced only while there is a kept call alive, and a call that meets none goes straight through.
   Somebody else may have wrapped it before or after us: each layer calls the one it found.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from .call import Call
from .ddp import prepare_ddp
from .saved.graph import Node, free, node_of, walk
from .unseen import unseen

_autograd: Any = torch.autograd

__all__ = ["add_guard", "attach", "remove_guard"]


class _Engine:
    """The state of the replacement: live calls, and what stood there before."""

    def __init__(self) -> None:
        self.calls: weakref.WeakSet[Call] = weakref.WeakSet()
        self.guards: list[Any] = []
        self.lock = threading.RLock()
        self.hook: Any = None

    def install(self) -> None:
        with self.lock:
            if not isinstance(_autograd._engine_run_backward, _Layer):
                _autograd._engine_run_backward = _Layer(_autograd._engine_run_backward)
            if self.hook is None:
                self.hook = register_optimizer_step_post_hook(_stepped)

    def uninstall(self) -> None:
        """Puts everything back once no kept call is alive."""
        with self.lock:
            if self.guards or any(True for _ in self.calls):  # its length would count the one just dying
                return
            here = _autograd._engine_run_backward
            if isinstance(here, _Layer):
                _autograd._engine_run_backward = here.below
            if self.hook is not None:
                self.hook.remove()
                self.hook = None


class _Layer:
    def __init__(self, below: Any) -> None:
        self.below = below

    def __call__(self, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if t_outputs is getattr(_here, "roots", None):
            return self.below(t_outputs, *args, **kwargs)  # a second layer of ours, with somebody else's in between
        for guard in list(_engine.guards):
            guard(t_outputs)
        calls = list(_engine.calls)
        if not calls or len(args) < 4 or any(map(_of_a_transform, t_outputs)):
            return self.below(t_outputs, *args, **kwargs)
        return _pass(self.below, calls, t_outputs, args, kwargs)


_engine = _Engine()
_here = threading.local()
"""`_here.roots` are the roots of the pass that this thread is about to start."""


def _of_a_transform(root: Any) -> bool:
    """It is differentiated by `torch.func` inside of a forward: its graph belongs to that, and is gone afterwards."""
    return isinstance(root, torch.Tensor) and torch._C._functorch.is_gradtrackingtensor(root)


def attach(call: Call) -> None:
    """From now on passes over this call are seen."""
    if call not in _engine.calls:
        _engine.calls.add(call)
        weakref.finalize(call, _engine.uninstall).atexit = False
    _engine.install()


def add_guard(guard: Any) -> None:
    """Shows every pass to a function before it starts."""
    _engine.guards.append(guard)
    _engine.install()


def remove_guard(guard: Any) -> None:
    _engine.guards.remove(guard)
    _engine.uninstall()


def _pass(below: Any, calls: list[Call], roots: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    __tracebackhide__ = True
    roots = tuple(roots)
    gradients, retain, create, inputs, *rest = args
    with unseen():
        outside, met = _survey(roots, calls, inputs)
    if not met:
        return below(roots, *args, **kwargs)
    with unseen():
        prepare_ddp(met, roots, kwargs.get("accumulate_grad", False))
        for call in met:
            call.begin_pass(roots)
    before, _here.roots = getattr(_here, "roots", None), roots
    try:
        result = below(roots, gradients, True, create, inputs, *rest, **kwargs)
    finally:
        _here.roots = before
        with unseen():
            if not retain:
                free(outside)
            del outside
            for call in met:
                call.end_pass()
    return result


def _survey(roots: tuple[Any, ...], calls: list[Call], inputs: Any) -> tuple[list[Node], list[Call]]:
    """The nodes this pass executes outside of kept calls, and the kept calls it reaches."""
    starts = [node for node in map(node_of, roots) if node is not None]
    met: dict[int, Call] = {}
    thread = threading.get_ident()
    border: list[Node] = []

    def outside(node: Node) -> bool:
        owners = [call for call in calls if call.owns(node, thread)]
        if owners:
            met.update((id(call), call) for call in owners)
            border.append(node)
        return not owners

    found = walk(starts, outside)
    if not met:
        return [], []
    others = [call for call in calls if id(call) not in met and call.finished is None]
    if others or any(call.below for call in met.values()):
        behind = walk(border)
        # A kept function may use what another one made, be it an argument or not.
        for call in others:
            if any(call.owns(node, thread) for node in behind):
                met[id(call)] = call
        names = {edge for call in met.values() for edge in call.below}
        seen = set(found)
        ends = [node for node in behind if (node._sequence_nr(), node.name()) in names and node not in seen]
        found += [node for node in walk(ends, outside) if node not in seen]
    if inputs:
        found = _executed(starts, found, inputs)
    return found, list(met.values())


def _executed(starts: list[Node], candidates: list[Node], inputs: Any) -> list[Node]:
    """Of the candidates those on a path to an input: see NOTE [ A pass over a kept call ] 2."""
    goals = set()
    for value in inputs:
        node = node_of(value)
        if node is None and isinstance(value, torch.Tensor):
            node = torch.autograd.graph.get_gradient_edge(value).node if value.requires_grad else None
        goals.add(node)
    needed: dict[Node, bool] = {}
    todo = [(node, False) for node in starts]
    while todo:
        node, ready = todo.pop()
        children = [child for child, _ in node.next_functions if child is not None]
        if ready:
            needed[node] = any(needed.get(child, False) or child in goals for child in children)
        elif node not in needed:
            needed[node] = False
            todo.append((node, True))
            todo += [(child, False) for child in children if child not in needed]
    return [node for node in candidates if needed.get(node, False)]


def _stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
    """After every step of every optimizer."""
    parameters = {id(value): value.grad is not None for group in optimizer.param_groups for value in group["params"]}
    for call in list(_engine.calls):
        call.stepped(parameters)
