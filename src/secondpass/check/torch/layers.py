# SPDX-License-Identifier: BSD-3-Clause
"""The methods of `torch.nn.Module`. The layers themselves are in `catalogue`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..interpreter.library import models
from ..interpreter.loops import wasted
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, List, Object, Tensor, Unknown
from .hooks import HOOKS
from .modules import complete, inside, is_module, modules, parameters

__all__: list[str] = []


def _named(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> List:
    owner = args[0]
    for name, tensor in parameters(owner).items():
        if tensor.leaf is not None and (not tensor.leaf.name or "." not in tensor.leaf.name):
            tensor.leaf.name = name
    made = List(parameters(owner).items())
    made.kind = "complete" if complete(owner) else "partial"
    made.of = (owner,) if made.kind == "partial" else ()
    return made


def _all(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> List:
    named = _named(m, args, kwargs)
    made = List([p for _, p in named])
    made.kind, made.of = named.kind, named.of
    return made


def _zero_grad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    leaves = [p.leaf for p in parameters(args[0]).values() if p.leaf is not None]
    m.visit()
    if m.engine.zero(leaves, "", m.place()):
        wasted(m)
    if not complete(args[0]):
        for leaf in m.engine.leaves:
            leaf.piled, leaf.made = False, leaf.made and None


def _requires_grad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    flag = m.known_truth(args[1] if len(args) > 1 else kwargs.get("requires_grad", True))
    m.settings += 1
    for tensor in parameters(args[0]).values():
        if flag is False and tensor.needs:
            m.engine.cut("frozen", "", m.place())
        tensor.needs = flag
    owner: Object = args[0]
    return owner


def _train(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    _set_mode(m, args[0], args[1] if len(args) > 1 else kwargs.get("mode", True))
    return args[0]


def _eval(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    _set_mode(m, args[0], False)
    return args[0]


def _set_mode(m: Machine, owner: Object, mode: Any) -> None:
    """`training` of a module and of all modules in it."""
    known = m.known_truth(mode)
    flag = mode if known is None else known
    for _, module in modules(owner):
        if module.attrs.get("training", module) is not flag:
            module.attrs["training"] = flag
            m.changes.append(module.serial)
            m.memo.clear()  # what was remembered of modules was of the other mode


def _self(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[0]


def _register(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner, name = args[0], args[1] if len(args) > 1 else kwargs.get("name")
    value = args[2] if len(args) > 2 else next((kwargs[k] for k in ("tensor", "param", "module") if k in kwargs), None)
    items = owner.hidden.get("items")
    if isinstance(items, list):
        owner.hidden.setdefault("names", [str(i) for i in range(len(items))]).append(str(name))
        items.append(value)
    elif isinstance(items, dict) and isinstance(name, str):
        items[name] = value
    elif isinstance(name, str):
        owner.attrs[name] = value
    else:
        owner.attrs[f"<{len(owner.attrs)}>"] = value


def _listed(found: Iterable[Any]) -> List:
    made = List(found)
    made.kind = "modules"
    return made


def _children(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> List:
    owner = args[0]
    return _listed(v for _, v in [*owner.attrs.items(), *inside(owner)] if is_module(v))


def _named_children(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> List:
    owner = args[0]
    return _listed((n, v) for n, v in [*owner.attrs.items(), *inside(owner)] if is_module(v))


def _state_dict(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Dict:
    """The memory of all parameters, without their history; buffers are not told one by one."""
    found = Dict({name: Tensor(False, None, p.store) for name, p in parameters(args[0]).items()}, m.short)
    found.loose = True
    return found


def _load_state_dict(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    """Changes all parameters in place, if it is not told to change some or to put others in their place."""
    words = {**dict(zip(("strict", "assign"), args[2:], strict=False)), **kwargs}
    certain = words.get("strict", True) is True and words.get("assign", False) is False
    m.visit()
    for name, tensor in parameters(args[0]).items():
        if isinstance(args[1] if len(args) > 1 else kwargs.get("state_dict"), Dict) and tensor.leaf is not None:
            m.engine.copies.add(tensor.leaf.node.number)  # another network's, not a file's
        m.engine.write(tensor, name, "load_state_dict", m.place(), certain)
    return Unknown(plain=True)


models(
    "torch.nn.Module",
    parameters=_all,
    named_parameters=_named,
    zero_grad=_zero_grad,
    requires_grad_=_requires_grad,
    modules=lambda m, args, kwargs: _listed(x for _, x in modules(args[0])),
    named_modules=lambda m, args, kwargs: _listed(modules(args[0])),
    children=_children,
    named_children=_named_children,
    buffers=lambda m, args, kwargs: List(),
    named_buffers=lambda m, args, kwargs: List(),
    register_buffer=_register,
    register_parameter=_register,
    add_module=_register,
    register_module=_register,
    state_dict=_state_dict,
    load_state_dict=_load_state_dict,
    share_memory=_self,
    train=_train,
    eval=_eval,
    no_sync=lambda m, args, kwargs: Unknown(plain=True),
    extra_repr=lambda m, args, kwargs: "",
    **dict.fromkeys("to cuda cpu half float double bfloat16 apply compile type xpu to_empty".split(), _self),
    **{
        n: lambda m, args, kwargs: Unknown(plain=True)
        for n in "get_parameter get_submodule gradient_checkpointing_enable".split()
    },
    **HOOKS,
)
