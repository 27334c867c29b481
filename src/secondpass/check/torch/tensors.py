# SPDX-License-Identifier: BSD-3-Clause
"""Operations on tensors: which node they make, which edges it has, and what it saves."""

from __future__ import annotations

import ast
from typing import Any

from ...autograd.ops import Op
from ...autograd.ops.only_read import FIRST, NO_HISTORY, OVERWRITTEN, REDUCES, composed, row
from ..interpreter.loops import at_least, touched
from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode, kept, measured, where_lost
from ..interpreter.values import Store, Stream, Tensor, Unknown, serials
from .edges import arguments, does_need, edges, flatten, may_need
from .overloads import meant

__all__ = [
    "Packed", "Values", "apply_row", "computed", "element", "index", "opaque", "operate", "operate_in_place", "packed",
    "put", "unpacked", "without_history",
]  # fmt: skip


class Values(tuple):  # type: ignore[type-arg]
    """`max(dim)`, `sort` and their kin: values and indices."""

    __slots__ = ()

    @property
    def values(self) -> Any:
        return self[0]

    @property
    def indices(self) -> Any:
        return self[1] if len(self) > 1 else Unknown(plain=True)


class Packed(Tensor):
    """A `PackedSequence`: its `data` is the tensor itself, with its history."""

    __slots__ = ()


def packed(value: Any) -> Any:
    """A value as the packed sequence that it is the data of."""
    return _as(Packed, value) if isinstance(value, Tensor) else value


def unpacked(value: Tensor) -> Tensor:
    """The data of a packed sequence."""
    return _as(Tensor, value)


def _as(kind: type[Tensor], value: Tensor) -> Tensor:
    made = kind(value.needs, value.node, value.store, value.leaf)
    made.lost, made.exact, made.base = value.lost, value.exact, value.base
    return made


def operate(m: Machine, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Applies a function or method of PyTorch by its name."""
    if name in NO_HISTORY:
        return without_history(m, "compare", args)
    name = meant(name, args, kwargs)
    if name == "dropout" and (kwargs.get("training") is False or (len(args) > 2 and args[2] is False)):
        return args[0]
    parts = composed(name)
    if parts is not None and row(name) is None:
        made = _composed(m, parts, args, kwargs)
        made = _perhaps_copied(made, args[0]) if name in ("reshape", "flatten") and args else made
    else:
        found = row(name)
        if found is None:
            return unknown_operation(m, name, args, kwargs)
        made = apply_row(m, found, _inputs(m, found, args, kwargs))
        made = made[0] if found.name in FIRST and isinstance(made, tuple) else made
    if name in REDUCES and isinstance(made, Tensor) and made.node is not None:
        made.node.single = _reduces(args, kwargs)
    return made


def _reduces(args: list[Any], kwargs: dict[str, Any]) -> bool | None:
    """Whether a loss is one number."""
    given = [kwargs.get("reduction", "mean"), kwargs.get("reduce", True), *(a for a in args if isinstance(a, str))]
    return None if "none" in given or False in given or any(isinstance(g, Unknown) for g in given) else True


def _perhaps_copied(made: Any, source: Any) -> Any:
    """`reshape` gives a view where the strides allow it, and a copy otherwise: of a view (transposed, sliced, expanded) it
    cannot be told which."""
    if isinstance(made, Tensor) and isinstance(source, Tensor) and source.base is not None:
        made.store, made.base = Store(), None
        made.store.perhaps = source.store
        made.store.views += [source, source.base]
    return made


def without_history(m: Machine, kind: str, args: list[Any]) -> Tensor:
    """A result that has no history whatever went in."""
    made = Tensor(False)
    made.born = measured(args)
    made.lost = where_lost(args)
    if m.grad and any(isinstance(a, Tensor) and a.needs for a in args):
        behind = next(a.edge for a in args if isinstance(a, Tensor) and a.needs)
        made.lost = m.engine.cut(kind, _text_of(args[0]), m.place(), behind)
    made.exact = True
    return made


def _text_of(value: Any) -> str:
    return value.name if isinstance(value, Tensor) else ""


def _composed(m: Machine, parts: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    names, expression = parts
    values = dict(zip(names, args, strict=False))
    values.update({k: v for k, v in kwargs.items() if k in names})
    if "weight" in names and "bias" in names and values.get("bias") is None and "input" in values:
        if names == ("input", "weight", "bias"):
            plain = composed("linear_without_bias")
            assert plain is not None
            return _evaluate(m, plain[1], values)
    return _evaluate(m, expression, values)


def _evaluate(m: Machine, node: ast.expr, values: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.Subscript):
        found = _evaluate(m, node.value, values)
        return found[0] if isinstance(found, tuple) else found
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    found = row(node.func.id)
    assert found is not None, node.func.id
    inputs = [_evaluate(m, a, values) for a in node.args]
    return apply_row(m, found, dict(zip(found.inputs, inputs, strict=False)))


def _inputs(m: Machine, op: Op, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    if op.star >= 0 or (op.inputs and op.inputs[0] == "tensors"):
        flat: list[Any] = []
        flatten(m, [*args, *kwargs.values()], flat, 0)
        return {"tensors": flat}
    if len(args) > len(op.inputs) and len(args) > 1 and type(args[1]) is int and "dim" not in op.inputs:
        args = [args[0], *args[2:]]  # `x.scatter(dim, index, src)`: rows name the tensors alone
    found = dict(zip(op.inputs, args, strict=False))
    for name, value in kwargs.items():
        if name in op.inputs:
            found[name] = value
        elif name in ("input", "x") and op.inputs[0] not in found:
            found[op.inputs[0]] = value
    return found


def apply_row(m: Machine, op: Op, inputs: dict[str, Any]) -> Any:
    """Applies one row of the table: one node."""
    values: list[Any] = []
    for value in inputs.values():
        values.extend(value if isinstance(value, list) else [value])
    needs, certain, maybe = edges(values)
    first = next((v for v in values if isinstance(v, Tensor)), None)
    if not op.node or not op.edges:
        return Tensor(False)
    if m.grad is False or needs is False:
        # An index has no history that could have been lost: it comes in by the inputs that a gradient can flow to.
        lost = where_lost(inputs[name] for name in op.edges if name in inputs)
        if needs and m.grad is False:
            behind = next((v.edge for v in values if isinstance(v, Tensor) and v.needs), None)
            lost = m.engine.cut("no_grad", first.name if first is not None else "", m.place(), behind)
        # A view says that it requires a gradient where its base does, even one without history.
        made = _result(op, None, needs if op.view else False, first)
        born = measured(values)
        for each in made if isinstance(made, tuple) else (made,):
            if isinstance(each, Tensor):
                each.lost, each.born = lost, born
        return made
    if m.grad is None:
        needs, certain, maybe = None, [], [*certain, *maybe]
    node = m.engine.node(op.node, certain, maybe, m.place(), m.stack())
    node.loops, node.without, node.arguments = m.loops(), where_lost(values), arguments(values)
    if m.short and _repeats(node):
        at_least(m, 8)  # a sum that is built from itself
    names = tuple([n for n, v in inputs.items() if may_need(v)])
    sure = tuple([n for n in names if does_need(inputs[n])])
    key = (op.name, op.node, names, sure)
    saved, node.vague, node.unsure = _SAVING.get(key) or _SAVING.setdefault(key, _saving(op, names, sure))
    made = _result(op, node, needs, first)
    if saved:
        node.save(saved, _kept(op, saved, inputs, made))
    return made


_SAVING: dict[Any, tuple[tuple[str, ...], bool, frozenset[str]]] = {}
"""What `_saving` said, by row and inputs."""


def _saving(op: Op, may: tuple[str, ...], sure: tuple[str, ...]) -> tuple[tuple[str, ...], bool, frozenset[str]]:
    """What a node saves if these inputs may need a gradient and those do; whether it is not known that it saves anything;
    and which of it, it may not save."""
    saved = op.saved(may)
    alone = [op.saved(s) for s in ([sure] if sure else [(n,) for n in may])]
    return saved, bool(saved) and not all(alone), frozenset(saved).difference(set(saved).intersection(*alone))


def _repeats(node: GraphNode) -> bool:
    """Whether an operation takes in what the same one gave in an earlier turn, over no other statement."""
    todo = [p for p, _ in node.edges if p.place is node.place]
    while todo:
        parent = todo.pop()
        if parent.loops != node.loops:
            if parent.name_ == node.name_:
                return True
        else:
            todo.extend([p for p, _ in parent.edges if p.place is node.place])
    return False


def _kept(op: Op, saved: tuple[str, ...], inputs: dict[str, Any], made: Any) -> Any:
    for name in saved:
        value = inputs.get(name)
        if name not in op.inputs:
            value = made[0] if isinstance(made, tuple) else made
            if name not in ("result", "output"):
                continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Tensor):
                yield name, item


def _result(op: Op, node: GraphNode | None, needs: bool | None, first: Tensor | None) -> Any:
    def one(position: int) -> Tensor:
        made = Tensor(needs, node, first.store if op.view and first is not None else None)
        if op.view and first is not None:
            made.base = first.base or first
            made.store.views.append(made)
        if position in op.integral:
            made.needs, made.node, made.exact = False, None, True
        return made

    if not op.several:
        return one(0)
    if op.view:
        return Stream(lambda: iter(lambda: _next(one(0)), None), None)
    return Values(one(i) for i in range(max(2, len(op.integral) + 1)))


def _next(part: Tensor) -> Tensor:
    """One of several parts of a tensor: each is another."""
    part.born = next(serials)
    return part


def opaque(m: Machine, values: list[Any], name: str = "?") -> GraphNode:
    """A node for a call that cannot be read."""
    _, certain, maybe = edges(values)
    node = m.engine.node(name, (), [*certain, *maybe], m.place(), m.stack())
    node.loops, node.arguments = m.loops(), arguments(values)
    node.opaque = True
    return node


def unknown_operation(m: Machine, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An operation of PyTorch that no row tells of: it has history where its inputs do, and may save anything."""
    flat: list[Any] = []
    flatten(m, [*args, *kwargs.values()], flat, 0)
    if m.grad is False or edges(flat)[0] is False:
        return Unknown(plain=True) if not flat else Tensor(False)
    return Unknown(node=opaque(m, flat, name))


def computed(m: Machine, name: str, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    """A function of a library that computes with tensors: it has the history of what goes in, and may save anything."""
    flat: list[Any] = []
    flatten(m, [*args, *kwargs.values()], flat, 0)
    needs, certain, maybe = edges(flat)
    if m.grad is False or needs is False:
        return Tensor(False)
    if m.grad is None:
        needs, certain, maybe = None, [], [*certain, *maybe]
    node = m.engine.node(name, certain, maybe, m.place(), m.stack())
    node.loops, node.without, node.vague = m.loops(), where_lost(flat), True
    node.arguments = arguments(flat)
    return Tensor(needs, node)


def _refused(m: Machine) -> None:
    """PyTorch refuses to change a leaf that gathers gradients while it records. Where a program goes on all the same, it is
    none (`to` or `cuda` has made a copy of it), and has the history of what is written."""
    m.engine.doubtful = True


def operate_in_place(m: Machine, name: str, tensor: Tensor, args: list[Any], target: str) -> Tensor:
    """`tensor.name_(...)` and `tensor op= ...`"""
    if tensor.grad_of is not None:
        if name in ("zero", "fill", "mul") and (name == "zero" or (args and args[0] == 0)):
            touched(m, tensor.grad_of)
            m.engine.zero([tensor.grad_of], "", m.place())
        return tensor
    store = tensor.store
    if store.leaf is not None:
        touched(m, store.leaf)
    how = "[...] =" if name == "copy_" and tensor.base is not None else name if name.endswith("_") else f"{name}_"
    records = m.grad is not False
    values: list[Any] = []
    flatten(m, [tensor, *args], values, 0)
    needs, _, _ = edges(values)
    if tensor.leaf is not None and tensor.needs and records:
        _refused(m)
        m.engine.write(tensor, target, how, m.place())
        return tensor
    made: Any = None
    before: Tensor | None = None
    if records and needs is not False:
        store.count += 1
        before = Tensor(tensor.needs, tensor.node, Store(), tensor.leaf)
        before.store.count = store.count - 1
        made = operate(m, name, [before, *args], {})
        store.count -= 1
    if m.engine.write(tensor, target, how, m.place()):
        at_least(m, 5)
    if isinstance(made, Tensor) and made.node is not None:
        _rebase(m, tensor, made, store, (made, before) if name in OVERWRITTEN else (made,))
    return tensor


def _rebase(m: Machine, tensor: Tensor, made: Tensor, store: Store, same: tuple[Tensor | None, ...]) -> None:
    """The changed tensor, and what it is a view of, get the history of the change."""
    node = made.node
    assert node is not None
    # What was saved of the result is the changed memory itself, at the version after the change.
    node.saved = [kept(e[0], made, store) if e[2] is not None and e[2] in same else e for e in node.saved]
    base = tensor.base
    if base is not None:
        parents = [n for n in (node, base.node) if n is not None]
        slices = m.engine.node("torch::autograd::CopySlices", parents, (), m.place(), m.stack())
        slices.loops = m.loops()
        slices.save(("fn",))  # the operation inside: even one that saved nothing cannot be walked again
        base.node, base.needs = slices, made.needs if base.needs is not True else True
    for view in store.views:
        if view is not tensor and view is not base and view.leaf is None:
            # A view has the history of what it is a view of; PyTorch makes it anew when it is asked for.
            view.needs, view.node = None, base.node if base is not None else node
    if base is not None:
        node = m.engine.node("AsStridedBackward0", (slices,), (), m.place(), m.stack())
        node.loops = m.loops()
    tensor.node, tensor.needs = node, made.needs


def index(m: Machine, tensor: Tensor, key: Any) -> Any:
    """`tensor[key]`"""
    if isinstance(tensor, Packed) and key == 0:
        return unpacked(tensor)
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(p, (Tensor, list)) for p in parts):
        made = operate(m, "index", [tensor, Tensor(False)], {})
        if isinstance(made, Tensor):
            made.born = max(made.born, measured(parts))
        return made
    name = "select" if any(isinstance(p, int) and not isinstance(p, bool) for p in parts) else "slice"
    unknown = any(isinstance(p, Unknown) for p in parts)
    made = operate(m, name, [tensor], {})
    if unknown and isinstance(made, Tensor):
        # Either a view or a copy: neither its memory nor a saved index can be relied on.
        made.store = Store()
        made.base = None
    if tensor.grad_of is not None and isinstance(made, Tensor):
        made.grad_of = None
    return made


def element(m: Machine, tensor: Tensor) -> Any:
    """One element of a tensor that is walked through."""
    made = operate(m, "select", [tensor], {})
    if isinstance(made, Tensor):
        made.exact = tensor.exact
        _next(made)
    return made


def put(m: Machine, tensor: Tensor, value: Any, node: ast.AST | None) -> None:
    """`tensor[key] = value`"""
    target = ast.unparse(node) if node is not None else ""
    view = Tensor(tensor.needs, tensor.node, tensor.store, None)
    view.base = tensor.base or tensor
    source = value if isinstance(value, (Tensor, Unknown)) else Tensor(False)
    if tensor.leaf is not None and tensor.needs:
        if m.grad is not False:
            _refused(m)
        m.engine.write(tensor, target, "[...] =", m.place())
        return
    operate_in_place(m, "copy_", view, [source], target)
    if tensor.base is None and view.node is not None and view.base is tensor:
        tensor.needs = tensor.needs or view.needs
