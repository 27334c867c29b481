# SPDX-License-Identifier: BSD-3-Clause
"""`keep` and `kept`: what the user holds in place of a model, and around a block of code."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

import torch
from torch import nn

from .budget.plan import Plan
from .call import Call
from .engine import attach
from .keeper import Keeper, wanted
from .ledger import Ledger
from .place import caller_code
from .unseen import unseen

__all__ = ["Kept", "keep", "kept"]

F = TypeVar("F", bound=Callable[..., Any])
Budget = int | float | str | None


def keep(
    function: F, budget: Budget = None, *, units: Any = "auto", policy: str = "auto", passes: int | None = None
) -> F:
    """Lets any number of passes follow one forward, within a budget, with the very gradients of `retain_graph`.

    :param function: A module or any function. A module stays a module: the result shares everything with it, and
        keeping happens when the result is called; calling the original stays as it was.
    :param budget: The most bytes that saved tensors may take on the device: a number, a size like `"2GB"`, a share of
        the device's free memory (`"40%"` or `0.4`), or of what `retain_graph=True` would hold (`"50% of full"`). None
        holds everything.
    :param units: The parts of which saved tensors are computed again one at a time: a module class, modules or their
        names, a function that says of each module whether it is one, or `"auto"` for the blocks of the model's lists.
    :param policy: `"auto"` holds what the budget allows and computes the rest again; `"retain"` holds everything,
        `"recompute"` as little as can be, `"offload"` moves what the budget does not allow to the host.
    :param passes: How many passes each forward will have, if known; learned otherwise.

    Example::

        >>> import secondpass, torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        >>> kept = secondpass.keep(model)
        >>> out = kept(torch.ones(1, 4))
        >>> out[:, 0].sum().backward()
        >>> out[:, 1].sum().backward()
    """
    if isinstance(function, Kept):
        raise ValueError("this is kept already: keep the model it was made from with the other budget.")
    if isinstance(function, torch.jit.ScriptModule):
        raise TypeError("a scripted module cannot be kept: its forward runs outside of Python.")
    if not callable(function):
        raise TypeError(f"`keep` should be given a module or a function. (got {function!r})")
    options = {"budget": budget, "units": units, "policy": policy, "passes": passes}
    if isinstance(function, nn.Module):
        return _kept_module(function, options)  # type: ignore[no-any-return]
    return _KeptFunction(function, options)  # type: ignore[return-value]


class Kept:
    """What a kept function offers besides being called."""

    __slots__ = ()
    _keeper: Keeper

    def ledger(self) -> Ledger:
        """What is held now, why, and what the last passes cost."""
        return self._keeper.ledger()

    def plan(self) -> Plan:
        """What will be held, computed again and offloaded in the passes, and what that is expected to cost."""
        return self._keeper.plan()

    def close(self) -> None:
        """Lets go of all saved tensors. A pass that comes nevertheless computes them again, if that is possible."""
        self._keeper.close()

    @property
    def budget(self) -> int | None:
        """In bytes. Another one may be set at any time, as `keep` takes it: it takes effect, or raises."""
        return self._keeper.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._keeper.change_budget(budget)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _KeptFunction(Kept):
    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._keeper = Keeper(None, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._keeper.run(self._function, args, kwargs)

    def __reduce__(self) -> Any:
        return functools.partial(keep, **self._options), (self._function,)


class _KeptModule(Kept):
    """Mixed into the class of a kept module."""

    __slots__ = ()
    _options: dict[str, Any]
    _plain: type
    named_modules: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self._keeper.module
        assert module is not None
        return self._keeper.run(module, args, kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        # A module's own `__setattr__` would put it among its attributes, where nothing sees it.
        if name == "budget":
            self._keeper.change_budget(value)
        else:
            super().__setattr__(name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return functools.partial(keep, **self._portable()), (_share(self, self._plain),)

    def _portable(self) -> dict[str, Any]:
        units = self._options["units"]
        if not isinstance(units, (str, type)) and not callable(units):
            names = {id(part): name for name, part in self.named_modules()}
            units = [part if isinstance(part, (str, type)) else names[id(part)] for part in units]
        return {**self._options, "units": units}


@functools.cache
def _kept_class(kind: type) -> type:
    # Slots, because the attributes of a kept module are the attributes of the module it was made from. The same name,
    # because libraries write the name of a model's class into what they save.
    body = {"__slots__": ("_keeper", "_options"), "_plain": kind, "__qualname__": kind.__qualname__}
    body |= {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (_KeptModule, kind), body)


def _share(module: Any, kind: type) -> Any:
    """Another object with the very same attributes."""
    twin: Any = object.__new__(kind)
    object.__setattr__(twin, "__dict__", vars(module))
    return twin


def _kept_module(module: nn.Module, options: dict[str, Any]) -> Any:
    kept_module = _share(module, _kept_class(type(module)))  # type: ignore[arg-type]
    object.__setattr__(kept_module, "_options", options)
    object.__setattr__(kept_module, "_keeper", Keeper(module, **options))
    return kept_module


class kept(Kept):
    """Keeps whatever is computed within a block of code: several models, plain functions, losses.

    Takes what `keep` takes. The same block is known again when it is entered the next time: it follows its plan.

    Example::

        >>> import secondpass, torch
        >>> first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
        >>> with secondpass.kept(budget="1MB") as block:
        ...     out = second(torch.tanh(first(torch.ones(1, 4))))
        ...     losses = [out[:, 0].sum(), out[:, 1].pow(2).sum()]
        >>> for loss in losses:
        ...     loss.backward()
    """

    def __init__(self, budget: Budget = None, *, policy: str = "auto", passes: int | None = None) -> None:
        code, line = caller_code()
        self._keeper = _blocks.keeper(code, (line, budget, policy, passes))
        self._call: Call | None = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> kept:
        if self._call is not None:
            raise ValueError("this block is open already: `kept` blocks do not nest in themselves.")
        if wanted():
            with unseen():
                self._call = self._keeper.begin([], block=True)
            attach(self._call)
            self._keeper.calls.add(self._call)
            self._open.enter_context(self._keeper.recording(self._call))
        return self

    def __exit__(self, *error: object) -> None:
        call, self._call = self._call, None
        self._open.close()
        if call is None:
            return
        with unseen():
            if error and error[0] is not None:
                self._keeper.abandon(call)
            else:
                self._keeper.end(call, None)


class _Blocks:
    """The blocks of code that are kept, each known by its place in the code."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[CodeType, dict[Any, Keeper]] = weakref.WeakKeyDictionary()

    def keeper(self, code: CodeType | None, options: Any) -> Keeper:
        _, budget, policy, passes = options
        if code is None:
            return Keeper(None, budget, "auto", policy, passes)
        known = self._known.setdefault(code, {})
        if options not in known:
            known[options] = Keeper(None, budget, "auto", policy, passes)
        return known[options]


_blocks = _Blocks()
