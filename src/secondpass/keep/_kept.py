# SPDX-License-Identifier: BSD-3-Clause
"""`keep`: what the user holds in place of the model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ._keeper import Keeper
from ._ledger import Ledger

__all__ = ["keep"]


def keep(
    function: Callable[..., Any],
    budget: int | float | str | None = None,
    *,
    units: Any = "auto",
    policy: str = "auto",
    passes: int | None = None,
) -> Any:
    """Lets any number of passes follow one forward, within a budget, with the very gradients of `retain_graph`.

    :param function: A module or any function. A module stays a module: the result shares everything with it, and
        keeping happens when the result is called; calling the original stays as it was.
    :param budget: The most bytes to hold for one forward: a number, a size like `"2GB"`, or a share of the device's
        free memory (`"40%"` or `0.4`). None holds everything.
    :param units: The parts that are held or recomputed as one: a module class, a list of modules, or `"auto"` for the
        blocks of the model's lists of blocks.
    :param policy: `"auto"` holds as many units as the budget allows and recomputes the others; `"retain"`,
        `"recompute"` and `"offload"` do the same for all units.
    :param passes: How many passes each forward will have, if known; learned otherwise.

    Example::

        >>> import secondpass, torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        >>> kept = secondpass.keep(model)
        >>> out = kept(torch.ones(1, 4))
        >>> out[:, 0].sum().backward()
        >>> out[:, 1].sum().backward()
    """
    if isinstance(function, (_KeptModule, _KeptFunction)):
        raise ValueError("this is kept already: keep the model it was made from with the other budget.")
    if isinstance(function, torch.jit.ScriptModule):
        raise TypeError("a scripted module cannot be kept: its forward runs outside of Python.")
    if not callable(function):
        raise TypeError(f"`keep` should be given a module or a function. (got {function!r})")
    _no_donations()
    options = {"budget": budget, "units": units, "policy": policy, "passes": passes}
    if isinstance(function, nn.Module):
        return _kept_module(function, options)
    return _KeptFunction(function, options)


class _Handle:
    """What a kept function offers besides being called."""

    _keeper: Keeper

    def ledger(self) -> Ledger:
        """What is held now, why, and what the last passes cost."""
        return self._keeper.ledger()

    def close(self) -> None:
        """Lets go of all buffers. A pass that comes nevertheless makes them again."""
        self._keeper.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _KeptFunction(_Handle):
    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._options = options
        self._keeper = Keeper(function, None, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._keeper.run(*args, **kwargs)

    def __reduce__(self) -> Any:
        return functools.partial(keep, **self._options), (self.__wrapped__,)


class _KeptModule(_Handle):
    """Mixed into the class of a kept module."""

    _options: dict[str, Any]
    _plain: type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._keeper.run(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return functools.partial(keep, **self._portable()), (_share(self, self._plain),)

    def _portable(self) -> dict[str, Any]:
        units = self._options["units"]
        if not isinstance(units, (str, type)):
            names = {id(part): name for name, part in self.named_modules()}
            units = [part if isinstance(part, (str, type)) else names[id(part)] for part in units]
        return {**self._options, "units": units}


@functools.cache
def _kept_class(kind: type) -> type:
    # Slots, because the attributes of a kept module are the attributes of the module it was made from.
    body = {"__slots__": ("_keeper", "_options"), "_plain": kind}
    body |= {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(f"Kept{kind.__name__}", (_KeptModule, kind), body)


def _share(module: nn.Module, kind: type) -> Any:
    """Another object with the very same attributes."""
    twin = object.__new__(kind)
    object.__setattr__(twin, "__dict__", vars(module))
    return twin


def _kept_module(module: nn.Module, options: dict[str, Any]) -> Any:
    kept = _share(module, _kept_class(type(module)))
    object.__setattr__(kept, "_options", options)
    object.__setattr__(kept, "_keeper", Keeper(functools.partial(type(module).__call__, module), module, **options))
    return kept


def _no_donations() -> None:
    """Compiled regions must not reuse their buffers for gradients: a later pass needs them."""
    try:
        import torch._functorch.config as config
    except ImportError:
        return
    if hasattr(config, "donated_buffer"):
        config.donated_buffer = False
