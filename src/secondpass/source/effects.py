# SPDX-License-Identifier: BSD-3-Clause
"""The one table of what a piece of source does to history: cuts it, stores it, empties a store, writes in place, makes a pass,
steps, clears gradients, keeps results, switches recording off.

It is asked only of lines that ran (or, by `check`, of code that nobody runs), and only for what cannot be seen on live objects:
where a thing that was seen to happen stands in the source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .reader import heads, joined, long_files, parsed, texts_read

__all__ = [
    "STORES", "Effect", "EffectKind", "base_of", "clears_gradients", "close_long_files", "cut_of", "effects", "is_number",
    "records_nothing", "root_of", "switches_recording",
]  # fmt: skip

EffectKind = Literal["cut", "store", "empty", "write", "pass", "step", "clear", "cache", "switch", "freeze"]

# -- the table: methods, then functions (by the last part of their name), then attributes ---------------------------------------

_CUTS = {
    "detach": "detach", "detach_": "detach", "state_dict": "detach", "item": "item", "tolist": "item", "numpy": "numpy",
    "argmax": "argmax", "argmin": "argmax", "argsort": "argmax", "multinomial": "sample", "sample": "sample",
    "long": "cast", "int": "cast", "bool": "cast", "byte": "cast",
    "gt": "compare", "lt": "compare", "ge": "compare", "le": "compare", "eq": "compare", "ne": "compare",
}  # fmt: skip
_CUT_FUNCTIONS = {
    "tensor": "wrap", "as_tensor": "wrap", "from_numpy": "wrap", "FloatTensor": "wrap", "Tensor": "wrap",
    "Variable": "wrap", "array": "numpy", "asarray": "numpy", "float": "item", "argmax": "argmax",
}  # fmt: skip
_PAIRS = {"max", "min", "sort", "topk", "median", "mode", "kthvalue"}
"""Give values and, second, their indices."""
_REDUCES = {"mean", "sum", "norm", "logsumexp", "prod", "var", "std"}
_LOSSES = {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"}
STORES = {"append", "appendleft", "add", "extend", "insert", "update", "setdefault", "put", "push"}
_EMPTIES = {"clear", "pop", "popleft", "popitem", "get", "remove"}
_PASSES = {"backward", "manual_backward", "grad"}
_STEPS = {"step"}
_CLEARS = {"zero_grad"}
_CACHES = {"cache", "lru_cache", "cached_property"}
_SWITCHES = {"no_grad", "inference_mode", "set_grad_enabled"}
_TABLES = {"Embedding", "EmbeddingBag"}
"""Made from values that are there, they are not trained unless one says so."""
_HARMLESS = {"requires_grad_", "retain_grad", "detach_", "share_memory_", "backward", "apply_"}
_HOMES = {"torch", "F", "np", "numpy", "torch.nn.functional", "nn.functional", "functional"}
_FUNCTION_HOMES = ("init", "functional")


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a piece of source does."""

    kind: EffectKind
    how: str
    """The kind of cut, the operation that writes, the name of the call."""
    target: ast.expr | None
    """What it is done to: the tensor, the container, the optimizer, the loss."""
    value: ast.expr | None
    """What is put in, for a store."""
    node: ast.AST


def effects(node: ast.AST, *kinds: EffectKind) -> Iterator[Effect]:
    """What a statement (its own line only, for a compound one) or an expression does, in the order of the source."""
    found = (e for part in _parts(node) for e in _effects(part))
    return (e for e in found if not kinds or e.kind in kinds)


def _parts(node: ast.AST) -> list[ast.AST]:
    return heads(node) if isinstance(node, ast.stmt) else [node]


@lru_cache(maxsize=4096)  # a statement of a loop is asked about once per iteration
def _effects(part: ast.AST) -> tuple[Effect, ...]:
    return tuple(_read(part))


def close_long_files() -> None:
    """A judgement is over: what was parsed of long files for it goes. See NOTE [ Long files ]."""
    opened = [source for source in long_files() if source.is_open]
    for source in opened:
        source.close()
    if opened:
        _effects.cache_clear()
        texts_read.cache_clear()


def _read(part: ast.AST) -> Iterator[Effect]:
    if isinstance(part, ast.AugAssign):
        yield Effect("write", f"{_SIGNS.get(type(part.op), '')}=", part.target, part.value, part)
        if isinstance(part.value, (ast.List, ast.Tuple, ast.ListComp)):
            yield Effect("store", "+=", part.target, part.value, part)
    if isinstance(part, ast.Assign):
        for target in part.targets:
            if isinstance(target, ast.Subscript):
                yield Effect("store", "[...] =", target.value, part.value, part)
                yield Effect("write", "[...] =", target.value, part.value, part)
            if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                yield Effect("freeze", "requires_grad =", target.value, part.value, part)
            if isinstance(target, ast.Attribute) and target.attr == "grad" and _is_none(part.value):
                yield Effect("clear", "grad = None", target.value, None, part)
    for node in ast.walk(part):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
            yield Effect("cut", "data", node.value, None, node)
        elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            yield Effect("cut", "compare", node.left, None, node)


def _of_call(call: ast.Call) -> Iterator[Effect]:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = method or (call.func.id if isinstance(call.func, ast.Name) else "")
    first = call.args[0] if call.args else None
    if method in _CUTS and owner is not None:
        yield Effect("cut", _CUTS[method], first if ast.unparse(owner) in _HOMES else owner, None, call)
    elif name in _CUT_FUNCTIONS and not (method and name == "float"):
        yield Effect("cut", _CUT_FUNCTIONS[name], first, None, call)
    if method in STORES and first is not None:
        yield Effect("store", method, owner, call.args[-1], call)
    if method in _EMPTIES:
        yield Effect("empty", method, owner, None, call)
    if name in _PASSES:
        yield Effect("pass", name, owner if name == "backward" and not call.args else first, None, call)
    if method in _STEPS:
        yield Effect("step", method, owner, first, call)
    if name in _CLEARS or (method == "zero_" and owner is not None and _of_gradient(owner)):
        yield Effect("clear", name, owner, None, call)
    if name in _CACHES:
        yield Effect("cache", name, None, None, call)
    if name in _SWITCHES:
        yield Effect("switch", name, None, first, call)
    yield from _freezes(call, name, owner)
    yield from _writes(call, method, owner)


def _freezes(call: ast.Call, name: str, owner: ast.expr | None) -> Iterator[Effect]:
    """What may say of tensors that they require no gradient; its value is what they are given, None where that is False."""
    given = next((k.value for k in call.keywords if k.arg in ("requires_grad", "freeze")), None)
    if name == "requires_grad_" and (value := given or next(iter(call.args), None)) is not None:
        yield Effect("freeze", name, owner, value, call)
    elif name == "setattr" and len(call.args) == 3 and ast.unparse(call.args[1]) == "'requires_grad'":
        yield Effect("freeze", name, call.args[0], call.args[2], call)
    table = name == "from_pretrained" and owner is not None and ast.unparse(owner).rpartition(".")[2] in _TABLES
    if table or (name == "Parameter" and given is not None):
        yield Effect("freeze", name, None, given, call)


def _writes(call: ast.Call, method: str, owner: ast.expr | None) -> Iterator[Effect]:
    if method.endswith("_") and not method.endswith("__") and method not in _HARMLESS and owner is not None:
        home = ast.unparse(owner)
        function = home.endswith(_FUNCTION_HOMES) or home in ("torch", "F")
        yield Effect("write", method, call.args[0] if function and call.args else owner, None, call)
    if method == "load_state_dict" and owner is not None:
        yield Effect("write", method, owner, None, call)
    for keyword in call.keywords:
        name = method or ast.unparse(call.func)
        if keyword.arg == "out":
            yield Effect("write", f"{name}(out=)", keyword.value, None, call)
        elif keyword.arg == "inplace" and _is_true(keyword.value) and call.args:
            yield Effect("write", name, call.args[0], None, call)


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _of_gradient(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(node))


# -- questions that are asked often -------------------------------------------------------------------------------------------


def cut_of(node: ast.AST, pick: object = None) -> tuple[str, ast.expr | None] | None:
    """The cut that a node makes itself, whatever is inside it, and what it cuts; `pick` says which part of its value is meant."""
    if isinstance(node, ast.Call):
        found = next((e for e in _of_call(node) if e.kind == "cut"), None)
        if (
            found is None
            and pick in (1, "indices")
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _PAIRS
        ):
            home = ast.unparse(node.func.value) in _HOMES
            return "argmax", node.args[0] if home and node.args else node.func.value
        return (found.how, found.target) if found is not None else None
    if isinstance(node, ast.Attribute) and node.attr == "indices" and isinstance(node.value, ast.Call):
        return cut_of(node.value, "indices")
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return "data", node.value
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return "compare", node.left
    return None


def is_number(node: ast.expr) -> bool:
    """Whether an expression makes one number of its values: `x.mean()`, `F.mse_loss(x, y)`, such numbers added up and scaled."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) or is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if not isinstance(node, ast.Call):
        return False
    name = (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
    if name in _REDUCES:
        of_torch = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in _HOMES
        return len(node.args) == of_torch and not any(k.arg in ("dim", "axis", "keepdim") for k in node.keywords)
    if name in _LOSSES or name.endswith("_loss"):
        return not any(
            k.arg == "reduction" and isinstance(k.value, ast.Constant) and k.value.value == "none"
            for k in node.keywords
        )
    return False


def records_nothing(context: ast.expr) -> bool:
    """Whether a `with` item or a decorator switches recording off."""
    call = context.func if isinstance(context, ast.Call) else context
    name = ast.unparse(call).rpartition(".")[2]
    if name == "set_grad_enabled":
        return isinstance(context, ast.Call) and bool(context.args) and _is_false(context.args[0])
    return name in _SWITCHES


def root_of(node: ast.AST) -> ast.expr | None:
    """The expression that a pass starts from: the `x` of `x.backward()`, `grad(x, ...)` and `scaler.scale(x).backward()`."""
    for effect in effects(node, "pass"):
        call = effect.node
        assert isinstance(call, ast.Call)
        if effect.how == "backward" and isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if call.args and isinstance(owner, (ast.Name, ast.Attribute)) and not _is_gradient_argument(call, owner):
                return call.args[0]  # `torch.autograd.backward(x)`, `accelerator.backward(x)`
            scaled = (
                isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "scale"
            )
            return owner.args[0] if scaled and isinstance(owner, ast.Call) and owner.args else owner
        if call.args:
            return call.args[0]
        return next((k.value for k in call.keywords if k.arg in ("outputs", "tensors")), None)
    return None


def _is_gradient_argument(call: ast.Call, owner: ast.expr) -> bool:
    """`y.backward(torch.ones_like(y))`: the argument is made for the purpose. `y.backward(*more)` hands on what there may be."""
    first = call.args[0]
    if isinstance(first, ast.Starred):
        return ast.unparse(owner).rpartition(".")[2] != "autograd"
    return isinstance(first, ast.Call) and ast.unparse(first.func).rpartition(".")[2].endswith("_like")


def base_of(node: ast.AST) -> str:
    """The tensor that a chain of subscripts and calls starts from, as the source writes it."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT"):
            node = node.value
        else:
            return ast.unparse(node)


@lru_cache(maxsize=4096)
def _clears(text: str, line: int) -> bool:
    source = parsed(text)
    stmt = source.statement(line) if source is not None else None
    return stmt is not None and any(True for _ in effects(stmt, "clear"))


def clears_gradients(lines: list[str], line: int) -> bool:
    """Whether the statement at a line of a file clears gradients."""
    if not (0 < line <= len(lines)) or "grad" not in "".join(lines[line - 1 : line + 3]):
        return False
    return _clears(joined(lines), line)


@lru_cache(maxsize=4096)
def _switches_off(text: str, line: int) -> str:
    source = parsed(text)
    stmt = source.statement(line) if source is not None else None
    if stmt is None:
        return ""
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        # What it switches it switches back, unless it is left in the middle: by a generator that waits to go on.
        yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(stmt))
        return "with" if yields and any(records_nothing(i.context_expr) for i in stmt.items) else ""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return ""
    for effect in effects(stmt, "switch"):
        if effect.how != "set_grad_enabled" or effect.value is None or not _is_true(effect.value):
            return effect.how
    return ""


def switches_recording(lines: list[str], line: int) -> str:
    """How the statement at a line of a file switches recording off and leaves it so; "" where it does not."""
    text = "".join(lines[line - 1 : line + 3]) if 0 < line <= len(lines) else ""
    return _switches_off(joined(lines), line) if any(word in text for word in _SWITCHES) else ""
