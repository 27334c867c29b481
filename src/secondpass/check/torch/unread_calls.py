# SPDX-License-Identifier: BSD-3-Clause
"""Calls into code that is not read: libraries by name, and what cannot be resolved at all.

NOTE [ What code we cannot read may do ]
1. It gives back an unknown value that may carry the history of everything handed to it (an opaque node).
2. It may train what it is handed: an optimizer handed to it is `loose`, parameters of a module handed to it are in
   doubt, unless the callee's name says that it only looks (`save_checkpoint`, `log`, `count_parameters`, a scheduler).
3. It does not change local names of the caller.
"""

from __future__ import annotations

import re
from typing import Any

from ..interpreter.attributes import get_attribute
from ..interpreter.calls import call, instantiate
from ..interpreter.contexts import Switch
from ..interpreter.library import FUNCTIONS, is_harmless, is_library, library_class
from ..interpreter.machine import Machine, Raised
from ..interpreter.nodes import measured, where_lost
from ..interpreter.values import External, Function, Object, Tensor, Unknown
from .edges import arguments, edges, flatten
from .functions import call_torch
from .methods import is_method
from .modules import parameters
from .passes import backward, maybe_backward
from .tensors import opaque
from .unread_networks import as_tensor, forward, is_given, leaves

__all__ = ["call_external", "call_unknown"]

_LOOKS = re.compile(
    r"sched|lr|log|save|load|print|summary|count|info|watch|show|plot|init|eval|test|valid|metric|accuracy|format|"
    r"report|size|param|device|cuda|display|write|dump|visual|warmup|ema|freeze|hook|register",
    re.IGNORECASE,
)
_OPTIMIZER = re.compile(
    r"(Adam|SGD|RMSprop|Adagrad|Adafactor|Adadelta|Lion|LAMB|Lamb|Prodigy|Muon|RAdam|Ranger|LARS)[A-Z0-9a-z]*$"
)


def call_external(m: Machine, function: External, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls a name of a library."""
    made = _external(m, function, args, kwargs)
    if type(made) is Unknown and made.plain and made.lost is None:
        made.lost = where_lost([*args, *kwargs.values()])
        if type(made.key) is int and (newest := measured(args)):
            made.key = ("measured", newest, made.key)
    return made


def _external(m: Machine, function: External, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = function.name
    act = FUNCTIONS.get(name)
    if act is not None:
        kwargs.pop("**", None)
        try:
            return act(m, args, kwargs)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError):
            return Unknown(plain=is_harmless(name))
    cls = library_class(name)
    if cls is not None:
        return instantiate(m, cls, args, kwargs)
    if name.startswith("torch."):
        return call_torch(m, name, args, kwargs)
    if is_harmless(name):
        if name in ("sys.exit", "builtins.exit", "builtins.quit", "os._exit"):
            raise Raised("SystemExit")
        return Unknown(plain=True)
    if is_library(name):
        return Unknown()
    if _OPTIMIZER.search(name) and (args or "params" in kwargs):
        found = library_class("torch.optim.Optimizer")
        if found is not None:
            return instantiate(m, found, args, kwargs)
    return call_unknown(m, Unknown(("external", name)), args, kwargs, name.rpartition(".")[2])


def call_unknown(m: Machine, function: Unknown, args: list[Any], kwargs: dict[str, Any], name: str = "") -> Any:
    """Calls what cannot be read. See NOTE [ What code we cannot read may do ]."""
    owner = function.owner
    if not name:
        last = function.key[-1] if isinstance(function.key, tuple) and function.key else ""
        name = last if isinstance(last, str) else ""
    if owner is not None:
        done = _method(m, owner, name, args, kwargs)
        if done is not None:
            return done[0]
    if is_given(function, [*args, *kwargs.values()]):
        return forward(m, function, args, kwargs)
    values: list[Any] = []
    flatten(m, [*args, *kwargs.values()], values, 0)
    _doubt(m, name, [*args, *kwargs.values()])
    if function.plain and not any(isinstance(v, Tensor) for v in values):
        number = Unknown(plain=True)
        number.lost = where_lost([*([owner] if owner is not None else []), *args])
        return number
    if owner is not None and owner.node is not None:
        values.append(owner)
    for value in (*args, *kwargs.values()):
        if isinstance(value, Object) and value.cls.derives("torch.nn.Module"):
            values.extend(parameters(value).values())
        elif isinstance(value, Unknown):
            values.extend(leaf.tensor for leaf in leaves(value))
    here: Unknown | None = owner
    while here is not None:
        values.extend([here.network] if here.network is not None else [])
        here = here.owner
    made = Unknown(node=opaque(m, values))
    _, certain, maybe = edges(values)
    made.instance = all(node.hollow for node in (*certain, *maybe))  # what was made of no graph holds none
    assert made.node is not None
    made.node.arguments = arguments([*([owner] if owner is not None else []), *values])
    made.node.hollow = made.instance and owner is None and not any(isinstance(v, Tensor) for v in values)
    return made


def _method(m: Machine, owner: Unknown, name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any] | None:
    tensor = as_tensor(owner)
    if tensor is not owner and is_method(name):
        done = call(m, get_attribute(m, tensor, name), args, kwargs)
        if name == "backward" and owner.node is not None:
            owner.walked = True
            m.engine.begun.add(owner.node.number)
        return (done,)
    if name in ("to", "cuda", "float", "half", "double"):
        return (owner,)  # a module gives itself; a tensor one with the same history
    if name == "forward" and is_given(owner, [*args, *kwargs.values()]):
        return (forward(m, owner, args, kwargs),)
    if name == "backward":
        first = args[0] if args else kwargs.get("loss")
        if isinstance(first, (Tensor, Unknown)) and first is not None and not _is_gradient(first):
            maybe_backward(m, [first])
        elif owner.node is not None:
            backward(m, [owner], {k: v for k, v in kwargs.items() if k in ("retain_graph", "create_graph", "inputs")})
        else:
            maybe_backward(m, [])
        return (None,)
    if name == "step" and not owner.plain:
        key = repr(owner.key).lower()
        if not args and not re.search(r"sched|lr_|warm|prof", key):
            m.engine.listed = False
            for leaf in m.engine.leaves:
                leaf.store.doubt = len(m.engine.nodes) if leaf.has is not False else leaf.store.doubt
        if args and isinstance(args[0], Function):
            call(m, args[0], [], {})
        return (Unknown(plain=False),)
    if name == "zero_grad":
        for leaf in m.engine.leaves:
            leaf.applied.clear()
            leaf.piled, leaf.made = False, leaf.made and None
            leaf.has = None if leaf.has else leaf.has
        return (None,)
    if name == "requires_grad_":
        flag = m.known_truth(args[0] if args else kwargs.get("requires_grad", True))
        made = Tensor(flag if owner.plain else None, None if owner.plain else owner.node)
        if owner.plain and flag is not False:
            m.engine.leaf(made)
        return (made,)
    if name in ("detach", "item", "numpy", "tolist", "cpu") and not args:
        if name == "detach":
            m.engine.parted.update(arguments([owner]) or (owner.node.arguments if owner.node is not None else ()))
        return (Unknown(plain=name != "cpu" or owner.plain, node=None if name != "cpu" else owner.node),)
    if isinstance(owner.key, tuple) and owner.key[:1] == ("likely",) and name in ("any", "all", "item", "sum", "max"):
        return (owner,)
    if name.startswith("assertRaises"):
        return (Switch(None, ("expected",)),)
    if name in ("size", "dim", "numel", "keys", "argmax", "__len__"):
        return (Unknown((owner.key, name, repr(args)[:40]), plain=True),)
    return None


def _is_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.needs is False


def _doubt(m: Machine, name: str, values: list[Any]) -> None:
    looks = bool(_LOOKS.search(name))
    for value in values:
        if isinstance(value, (list, tuple)):
            _doubt(m, name, list(value)[:8])
        elif isinstance(value, dict):
            _doubt(m, name, list(value.values())[:16])
        elif isinstance(value, Object) and not looks:
            value.loose = True
            if value.cls.derives("torch.optim.Optimizer"):
                for leaf in value.hidden.get("leaves") or ():
                    leaf.doubt = True
            elif value.cls.derives("torch.nn.Module"):
                for tensor in parameters(value).values():
                    if tensor.leaf is not None:
                        tensor.leaf.doubt = True
        elif isinstance(value, Unknown) and not looks:
            for leaf in leaves(value):
                leaf.doubt = True
        elif isinstance(value, Tensor) and not looks and re.search(r"back|step|train|optimi|update|fit|learn", name):
            maybe_backward(m, [value] if value.node is not None else [])
