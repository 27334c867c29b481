# SPDX-License-Identifier: BSD-3-Clause
"""Modules: what owns parameters, how they are found, moved and stored; and modules that hold modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..creation import empty
from ..dtypes import ALL
from ..methods import Tensor
from ..thread_state import state

__all__ = ["Module", "ModuleDict", "ModuleList", "Parameter", "Sequential", "zero_grads"]


class Parameter(Tensor):
    """A leaf that belongs to a module."""

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        source = empty(0) if data is None else data
        super().__init__(source._a, requires_grad)
        self._c = source._c

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Module:
    """A part of a model. Parameters, buffers and other modules are found among its attributes."""

    training = True

    def __init__(self) -> None:
        self._buffers: list[str] = []
        self._after: list[Callable[..., Any]] = []

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get(name)
        if isinstance(known, Parameter) and isinstance(value, Tensor) and not isinstance(value, Parameter):
            raise TypeError(f"cannot assign a plain tensor as parameter {name!r} (torch.nn.Parameter or None expected)")
        if "_buffers" not in self.__dict__ and isinstance(value, (Parameter, Module)):
            raise AttributeError("cannot assign parameters or modules before Module.__init__() call")
        object.__setattr__(self, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self.forward(*args, **kwargs)
        for hook in self._after:
            found = hook(self, args, out)
            out = out if found is None else found
        return out

    def register_forward_hook(self, hook: Callable[..., Any]) -> None:
        """Calls `hook(module, args, output)` after each forward."""
        self._after.append(hook)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """A tensor that is stored with the module but not trained."""
        self._buffers.append(name)
        setattr(self, name, tensor)

    # --- looking: everything once, with dotted names
    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((n, m) for n, m in list(vars(self).items()) if isinstance(m, Module))

    def named_modules(self, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield prefix, self
            for name, child in self.named_children():
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        seen: set[int] = set()
        for where, module in self.named_modules():
            for name, value in list(vars(module).items()):
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{where}.{name}" if where else name, value

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        for where, module in self.named_modules():
            for name in module._buffers:
                if getattr(module, name) is not None:
                    yield f"{where}.{name}" if where else name, getattr(module, name)

    def children(self) -> Iterator[Module]:
        return (m for _, m in self.named_children())

    def modules(self) -> Iterator[Module]:
        return (m for _, m in self.named_modules())

    def parameters(self) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters())

    def buffers(self) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers())

    # --- changing
    def train(self, mode: bool = True) -> Module:
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Calls a function on each module, innermost first."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def requires_grad_(self, mode: bool = True) -> Module:
        for p in self.parameters():
            p.requires_grad = mode
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        zero_grads(list(self.parameters()), set_to_none, self)

    def to(self, *how: Any, **named: Any) -> Module:
        """Another element type, in place."""
        for t in (*self.parameters(), *self.buffers()):
            if t._a.dtype.kind == "f":
                t._a = t.detach().to(*how, **named)._a  # type: ignore[attr-defined]
        return self

    def float(self) -> Module:
        return self.to(ALL["float32"])

    def double(self) -> Module:
        return self.to(ALL["float64"])

    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers by name; they share memory with the module."""
        named: list[tuple[str, Any]] = [*self.named_parameters(), *self.named_buffers()]
        return {name: t.detach() for name, t in named}

    def load_state_dict(self, given: dict[str, Tensor], strict: bool = True) -> None:
        own = dict((*self.named_parameters(), *self.named_buffers()))
        odd = set(own) ^ set(given) if strict else set()
        odd |= {n for n in set(own) & set(given) if own[n]._a.shape != given[n]._a.shape}
        if odd:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}: missing, unexpected or of another size: "
                f"{', '.join(sorted(odd))}"
            )
        for name in set(own) & set(given):
            np.copyto(own[name]._a, given[name]._a)
            own[name]._c.count += 1

    def __repr__(self) -> str:
        inner = "".join(f"\n  ({n}): " + repr(m).replace("\n", "\n  ") for n, m in self.named_children())
        return f"{type(self).__name__}({inner}{chr(10) if inner else ''})"


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        setattr(self, str(len(self)), module)
        return self

    def __getitem__(self, index: Any) -> Any:
        found = list(self.children())[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, [name for name, _ in self.named_children()][index], module)

    def __len__(self) -> int:
        return len(list(self.children()))

    def __iter__(self) -> Iterator[Module]:
        return self.children()


class Sequential(ModuleList):
    """Modules one after the other."""

    def __init__(self, *modules: Any) -> None:
        named = len(modules) == 1 and isinstance(modules[0], dict)
        super().__init__(() if named else modules)
        vars(self).update(modules[0] if named else {})

    def forward(self, x: Any) -> Any:
        for module in self.children():
            x = module(x)
        return x


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: dict[str, Module] | None = None) -> None:
        super().__init__()
        vars(self).update(modules or {})

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.named_children())

    def items(self) -> list[tuple[str, Module]]:
        return list(self.named_children())


def zero_grads(parameters: list[Any], set_to_none: bool, owner: Any) -> None:
    """Clears gradients, or fills them with zeros."""
    if state.listener is not None:
        state.listener.zero_grad(owner, parameters)
    for p in parameters:
        if p._grad is not None and not set_to_none:
            p._grad.detach_() if p._grad.grad_fn is not None else p._grad.requires_grad_(False)
            p._grad.zero_()
        elif set_to_none:
            p._grad = None
