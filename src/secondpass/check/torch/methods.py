# SPDX-License-Identifier: BSD-3-Clause
"""Attributes and methods of tensors that are more than an operation of the table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...autograd.ops.only_read import CREATION, NO_HISTORY, composed, row
from ..interpreter.gradfn import GradFunction
from ..interpreter.loops import at_least, touched
from ..interpreter.machine import Machine
from ..interpreter.values import Class, External, Function, Native, Store, Stream, Tensor, Unknown, identity
from .edges import edges, flatten
from .hooks import on_tensor
from .passes import backward
from .tensors import Packed, element, operate, operate_in_place, packed, unknown_operation, unpacked, without_history

__all__ = ["custom_function", "is_method", "set_tensor_attribute", "tensor_attribute"]

_PLAIN = set(
    "shape dtype device ndim layout is_cuda names itemsize nbytes is_sparse is_leaf "
    "is_meta output_nr is_quantized _version".split()
)
_FACTS = set(
    "size dim stride numel nelement storage is_contiguous data_ptr element_size get_device is_floating_point "
    "ndimension untyped_storage type is_complex is_pinned storage_offset".split()
)
_SAME = set("cuda cpu to contiguous pin_memory type_as share_memory_ float double half bfloat16".split())
_VALUES = set("item tolist numpy __array__ __float__ __int__ __bool__ __index__ __len__".split())
_INTEGER = set("long int bool uint8 int64 int32 short byte LongTensor IntTensor ByteTensor BoolTensor".split())


def tensor_attribute(m: Machine, tensor: Tensor, name: str, node: ast.AST | None) -> Any:
    """`tensor.name`"""
    if tensor.attrs is not None and name in tensor.attrs:
        return tensor.attrs[name]
    if name == "ndim":
        return _rank(tensor)
    if name == "shape":
        return Unknown(("tensor", identity(tensor), name, _rank(tensor).key), plain=True)
    if name in _PLAIN:
        return Unknown(("tensor", identity(tensor), name), plain=True)
    if name == "grad":
        return _grad(m, tensor)
    if name == "data":
        return unpacked(tensor) if isinstance(tensor, Packed) else _data(m, tensor, node)
    if name == "requires_grad":
        return tensor.needs if tensor.needs is not None else Unknown(("needs", identity(tensor)), plain=True)
    if name == "grad_fn":
        return GradFunction(tensor.node) if tensor.node is not None and tensor.needs else None
    if name in ("T", "mT", "H", "mH"):
        return operate(m, "t", [tensor], {})
    if name in ("real", "imag"):
        return operate(m, "real", [tensor], {})

    def act(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return _method(m, tensor, name, args, kwargs, node)

    return Native(name, act)


def written(node: ast.AST | None) -> str:
    """The owner of an attribute as the source writes it."""
    return ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""


def base_name(node: ast.AST | None) -> str:
    """What an in-place method changes: `raw` of `raw[..., 2:4].exp_().mul_(2)`."""
    here = node.value if isinstance(node, ast.Attribute) else None
    while isinstance(here, ast.Subscript) or (isinstance(here, ast.Call) and isinstance(here.func, ast.Attribute)):
        here = here.value if isinstance(here, ast.Subscript) else here.func.value  # type: ignore[attr-defined]
    return ast.unparse(here) if here is not None else ""


def _rank(tensor: Tensor) -> Unknown:
    """How many dimensions it has: what one statement makes has as many every time."""
    node = tensor.node
    made = (node.name_, str(node.place)) if node is not None and node.place is not None else identity(tensor)
    return Unknown(("rank", made), plain=True)


def _grad(m: Machine, tensor: Tensor) -> Any:
    leaf = tensor.leaf
    if leaf is None:
        return Unknown()
    if leaf.has is False and not leaf.doubt:
        return None
    if leaf.has is None or leaf.doubt:
        return Unknown(node=leaf.grad.node if leaf.grad is not None else None)
    m.engine.look_at(leaf)
    leaf.read = True
    if leaf.grad is None:
        leaf.grad = Tensor(False)
        leaf.grad.grad_of = leaf
    return leaf.grad


def _data(m: Machine, tensor: Tensor, node: ast.AST | None) -> Tensor:
    # `.data` shares the memory but not the version counter.
    made = Tensor(False, None, Store())
    made.lost = tensor.lost
    if tensor.needs is not False and m.grad and tensor.leaf is None:
        made.lost = m.engine.cut("data", written(node), m.place(), tensor.node)
    made.store.leaf = tensor.store.leaf
    made.grad_of = tensor.grad_of
    return made


def _method(
    m: Machine, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None
) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(m, tensor, args, kwargs, node)
    if name in ("isnan", "isinf", "isfinite"):
        return Unknown(("likely", name == "isfinite", Unknown().key), plain=True)
    if name in ("dim", "ndimension"):
        return _rank(tensor)
    if name == "size" and not args and not kwargs:
        return Unknown(("tensor", identity(tensor), name, _rank(tensor).key), plain=True)
    if name == "type" and (args or kwargs):
        return _converted(m, tensor, name, args, kwargs)
    if name in _FACTS:
        return Unknown(("tensor", identity(tensor), name, identity(tuple(args))), plain=True)
    if name in _VALUES:
        measured = ("measured", tensor.age, tensor.store.serial, tensor.store.count)
        number = Unknown(measured if name in ("item", "tolist", "numpy") else None, plain=True)
        number.lost = tensor.lost
        if tensor.needs and m.grad and name in ("item", "tolist", "numpy"):
            number.lost = m.engine.cut("numpy" if name == "numpy" else "item", written(node), m.place(), tensor.edge)
        return number
    if name in _SAME:
        made = _converted(m, tensor, name, args, kwargs)
        return packed(made) if isinstance(tensor, Packed) else made
    if name in CREATION:
        return Tensor(kwargs.get("requires_grad") is True)
    if name.endswith("_") and not name.startswith("_") and name[:-1]:
        return operate_in_place(m, name[:-1], tensor, args, base_name(node))
    if name in ("split", "chunk", "unbind", "tensor_split", "split_with_sizes"):
        return parts(m, tensor, name, args, kwargs)
    if name.startswith("__"):
        return Unknown()
    return operate(m, name, [tensor, *args], kwargs)


def parts(m: Machine, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`split`, `chunk`, `unbind`: views of one tensor, as many as can be told."""
    count = args[0] if name == "chunk" and args and isinstance(args[0], int) else kwargs.get("chunks")
    if isinstance(count, int) and 0 < count <= 16:
        return tuple(element(m, tensor) for _ in range(count))
    if name in ("split", "split_with_sizes") and args and isinstance(args[0], (list, tuple)):
        return tuple(element(m, tensor) for _ in args[0])
    return Stream(lambda: iter(lambda: element(m, tensor), None), None)


def _converted(m: Machine, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    for value in (*args, *kwargs.values()):
        kind = value.name if isinstance(value, External) else value if isinstance(value, str) else ""
        if kind.rpartition(".")[2] in _INTEGER:
            return without_history(m, "cast", [tensor])
    if m.grad is False and tensor.needs and name != "share_memory_":
        return Tensor(None, tensor.node)  # the tensor itself, or a copy without history
    # Whether a copy is made depends on device and type: the history goes on either way, the memory may be another.
    made = Tensor(tensor.needs, tensor.node, Store(), tensor.leaf)
    made.lost = tensor.lost
    made.store.perhaps = tensor.store
    tensor.store.views.append(made)
    made.store.views.append(tensor)
    made.grad_of = tensor.grad_of
    if tensor.leaf is not None:
        if name in ("contiguous", "share_memory_", "pin_memory"):
            return tensor
        made.is_param = tensor.is_param
        if any(isinstance(v, External) for v in (*args, *kwargs.values())):
            return made  # another type: most likely a copy
        return tensor if m.short == 0 and not m.frames[-1].loops else made
    return made


def _detach(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Tensor:
    made = Tensor(False, None, tensor.store)
    m.engine.parted.update(tensor.node.arguments if tensor.node is not None else ())
    made.lost = tensor.lost
    if tensor.needs is not False and m.grad:
        made.lost = m.engine.cut("detach", written(node), m.place(), tensor.node)
    made.grad_of = tensor.grad_of
    return made


def _detach_in_place(
    m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None
) -> Tensor:
    if tensor.needs is not False and m.grad:
        tensor.lost = m.engine.cut("detach", written(node), m.place(), tensor.node)
    tensor.needs, tensor.node = False, None
    return tensor


def _requires_grad(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Tensor:
    flag = args[0] if args else kwargs.get("requires_grad", True)
    known = m.known_truth(flag)
    require(m, tensor, known, written(node))
    return tensor


def require(m: Machine, tensor: Tensor, flag: bool | None, name: str = "") -> None:
    """Sets whether a leaf gathers gradients."""
    if tensor.node is not None:
        return
    m.settings += 1
    if tensor.leaf is not None and tensor.leaf.stands:
        flag = None  # it stands for some that may be frozen and others that may not
    if flag is False and tensor.needs:
        m.engine.cut("frozen", "", m.place())
    tensor.needs = flag
    for view in tensor.store.views:
        if view is not tensor and view.node is None:
            view.needs = None if flag is not False else view.needs  # as what it is a view of
    if flag is not False:
        m.engine.leaf(tensor, name if name.isidentifier() else "")


def _clone(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Any:
    made = operate(m, "clone", [tensor], {})
    if isinstance(made, Tensor):
        made.grad_of = None
    return made


def _backward(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> None:
    words = dict(zip(("gradient", "retain_graph", "create_graph", "inputs"), args, strict=False))
    words.update(kwargs)
    backward(m, [tensor], words)


def _hook(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Any:
    return on_tensor(m, tensor, args[0] if args else kwargs.get("hook", Unknown()))


def _same(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Tensor:
    return tensor


def _where(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Any:
    return operate(m, "where", [args[0] if args else None, tensor, *args[1:]], kwargs)


def _copy(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Any:
    return operate_in_place(m, "copy_", tensor, args[:1], base_name(node))


def _uniform(m: Machine, tensor: Tensor, args: list[Any], kwargs: dict[str, Any], node: ast.AST | None) -> Any:
    m.engine.write(tensor, written(node), "fill_", m.place())
    return tensor


_SPECIAL: dict[str, Callable[..., Any]] = {
    "backward": _backward, "detach": _detach, "detach_": _detach_in_place, "requires_grad_": _requires_grad,
    "clone": _clone, "register_hook": _hook, "register_post_accumulate_grad_hook": _hook, "retain_grad": _same,
    "where": _where, "copy_": _copy, "uniform_": _uniform, "normal_": _uniform, "random_": _uniform,
    "set_": _uniform, "resize_": _uniform, "rename": _same, "refine_names": _same, "align_to": _same,
}  # fmt: skip


def set_tensor_attribute(m: Machine, tensor: Tensor, name: str, value: Any, node: ast.AST | None) -> None:
    """`tensor.name = value`"""
    if name == "grad":
        if tensor.leaf is None:
            return
        touched(m, tensor.leaf)
        if value is None:
            m.engine.zero([tensor.leaf], "", m.place())
        else:
            tensor.leaf.has, tensor.leaf.doubt = None, True
    elif name == "requires_grad":
        require(m, tensor, m.known_truth(value), written(node))
    elif name == "data":
        if tensor.leaf is not None:
            touched(m, tensor.leaf)
        store = Store()
        store.leaf = tensor.store.leaf
        if m.engine.write(Tensor(False, None, store), f"{written(node)}.data", ".data =", m.place()):
            at_least(m, 5)
    else:
        m.memo.clear()  # what a module computes may depend on what hangs on its parameters
        tensor.attrs = {**(tensor.attrs or {}), name: value}


def is_method(name: str) -> bool:
    """Whether a tensor has a method of that name that is known."""
    known = name in _SPECIAL or name in _FACTS or name in _SAME or name in _VALUES or name in NO_HISTORY
    return known or row(name) is not None or composed(name) is not None


def _arguments(function: Function) -> list[str]:
    return [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]


def _told(cls: Class, forward: Function) -> set[str] | None:
    """What a function of the program's own saves whichever way it goes, and looks at in its backward: the names of arguments,
    and that of what it returns. None where that depends."""
    body, arguments = forward.node.body, _arguments(forward)
    backward = cls.find("backward")
    if not isinstance(body, list) or not arguments or backward is None or not isinstance(backward[0], Function):
        return None
    after: Any = backward[0].node.body
    looks = [n for s in after if isinstance(s, (ast.Assign, ast.Expr, ast.Return)) for n in ast.walk(s)]
    if not any(isinstance(n, ast.Attribute) and n.attr == "saved_tensors" for n in looks):
        return None
    nodes = list(ast.walk(forward.node))
    saving = f"{arguments[0]}.save_for_backward"
    calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == saving]
    if len(calls) != 1 or calls[0] not in [s.value for s in body if isinstance(s, ast.Expr)]:
        return None
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    saved = {a.id for a in calls[0].args if isinstance(a, ast.Name)}
    return {n for n in saved if stored.count(n) == (n not in arguments)}


def _returned(forward: Function) -> str:
    """The one name that a function returns, if it is one."""
    returns = [n.value for n in ast.walk(forward.node) if isinstance(n, ast.Return)]
    return returns[0].id if len(returns) == 1 and isinstance(returns[0], ast.Name) else ""


def custom_function(m: Machine, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`MyFunction.apply(...)`: one node that saves what its forward hands to `save_for_backward`."""
    flat: list[Any] = []
    flatten(m, [*args, *kwargs.values()], flat, 0)
    needs, certain, maybe = edges(flat)
    found = cls.find("forward")
    if not found or not isinstance(found[0], Function):
        return unknown_operation(m, cls.name, args, kwargs)
    if m.grad is False or needs is False:
        return Tensor(False)
    node = m.engine.node(f"{cls.name}Backward", certain, maybe, m.place(), m.stack())
    node.loops = m.loops()
    made = Tensor(needs, node)
    told = _told(cls, found[0])
    if told is not None:
        given = {_returned(found[0]): made, **dict(zip(_arguments(found[0])[1:], args, strict=False)), **kwargs}
        node.save(("saved_tensors",), [("saved_tensors", t) for n in told if isinstance(t := given.get(n), Tensor)])
    elif "save_for_backward" in ast.dump(found[0].node):
        # Which of its inputs it saves is for its code to say: any of them, perhaps.
        node.save(("saved_tensors",), [("saved_tensors", t) for t in flat if isinstance(t, Tensor)])
        node.unsure = frozenset({"saved_tensors"})
    returned = [n for n in ast.walk(found[0].node) if isinstance(n, ast.Return)]
    if returned and all(isinstance(r.value, ast.Tuple) for r in returned):
        return tuple(Tensor(needs, node) for _ in returned[0].value.elts)  # type: ignore[union-attr]
    return made
