# SPDX-License-Identifier: BSD-3-Clause
"""What runs inside a program's own process: plainly, surveyed, or as the oracle that knows a fault by its objects.

Nothing of secondpass is used here: what a mutant's key says must not come from the tool that is measured.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib.abc
import importlib.util
import re
import sys
import traceback
from collections import deque
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch

__all__ = ["error_kind", "oracle", "plain", "survey"]

Site = tuple[str, int, int, int, int]


def error_kind(text: str) -> str:
    """What PyTorch complains of, in the words of a key."""
    for words, kind in (
        ("Trying to backward through the graph a second time", "backward-twice"),
        ("modified by an inplace operation", "inplace"),
        ("does not require grad and does not have a grad_fn", "no-grad"),
    ):
        if words in text:
            return kind
    return "other"


class Execution:
    """One program in this process: started, ended, and what it printed at the end told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.caught: list[str] = []

    def user(self, file: str) -> str | None:
        """A path below the program's folder, or None."""
        try:
            return str(Path(file).resolve().relative_to(self.folder))
        except ValueError:
            return None

    def frames(self, frame: FrameType | None) -> list[tuple[str, int]]:
        """The program's own lines around a frame, innermost first."""
        found = []
        while frame is not None:
            name = self.user(frame.f_code.co_filename)
            if name is not None:
                found.append((name, frame.f_lineno))
            frame = frame.f_back
        return found

    def compile(self, path: Path) -> CodeType:
        return compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def start(self) -> dict[str, Any]:
        path = self.folder / "main.py"
        module = ModuleType("__main__")
        module.__file__ = str(path)
        module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = module
        sys.argv = ["main.py"]
        sys.path.insert(0, str(self.folder))
        answer: dict[str, Any] = {"status": "ok", "error": "none", "message": "", "stack": []}
        try:
            exec(self.compile(path), module.__dict__)
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                answer.update(status="error", error="exit", message=str(leaving.code))
        except BaseException as error:
            lines = [(self.user(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
            answer.update(
                status="error",
                error=error_kind(str(error)),
                message=f"{type(error).__name__}: {str(error)[:300]}",
                stack=[[f, n] for f, n in reversed(lines) if f is not None],
            )
        return answer


def engine(around: Any) -> None:
    """Puts a function around every pass: `around(run, roots, arguments)`; `run()` makes it.

    The arguments are gradients, `retain_graph`, `create_graph`, inputs, and last whether gradients are accumulated.
    """
    import torch.autograd.graph as graph

    real = graph._engine_run_backward

    def patched(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        told = (*args, bool(kwargs.get("accumulate_grad")))
        return around(lambda: real(outputs, *args, **kwargs), outputs, told)

    for module in (torch.autograd, graph):
        if getattr(module, "_engine_run_backward", None) is real:
            module._engine_run_backward = patched  # type: ignore[attr-defined]


def with_history() -> int:
    """Tensors with history that are alive in this process."""
    gc.collect()
    return sum(1 for o in gc.get_objects() if isinstance(o, torch.Tensor) and o.grad_fn is not None)


def plain(folder: Path, probe: tuple[int, ...] = ()) -> dict[str, Any]:
    """Runs a program as it is; `probe` counts the tensors with history that are alive at the start of these passes."""
    alive: list[int] = []
    count = 0

    def around(run: Any, outputs: Any, args: Any) -> Any:
        nonlocal count
        if count in probe:
            alive.append(with_history())
        count += 1
        return run()

    if probe:
        engine(around)
    execution = Execution(folder)
    answer = execution.start()
    return {**answer, "alive": alive}


# -- the instrument: every expression's value passes through a function of ours --------------------------------------------

_SEEN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)


class _Instrument(ast.NodeTransformer):
    def __init__(self, file: str, sites: list[Site], only: set[Site] | None) -> None:
        self.file, self.sites, self.only = file, sites, only

    def site(self, node: Any) -> int | None:
        where = (self.file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        if self.only is not None and where not in self.only:
            return None
        self.sites.append(where)
        return len(self.sites) - 1

    def call(self, name: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        made = ast.Call(ast.Name(name, ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(made, at))

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.pattern, ast.arguments)):
            return node
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                node.value = self.visit(node.value)
            return self.after(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = self.body(node.body)
            return node
        if isinstance(node, ast.ClassDef):
            node.body = self.body(node.body)
            return node
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                node.func.value = self.visit(node.func.value)
            elif not isinstance(node.func, ast.Name):
                node.func = self.visit(node.func)
            node.args = [self.visit(a) for a in node.args]
            for k in node.keywords:
                k.value = self.visit(k.value)
            return self.seen(node)
        node = self.generic_visit(node)
        if isinstance(node, (ast.For, ast.While)):
            node.body = [self.event("turn", node), *node.body]
            return [self.event("enter", node), node]
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
            return self.after(node)
        return self.seen(node) if isinstance(node, _SEEN) else node

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(statement)
            out += made if isinstance(made, list) else [made]
        return out

    def seen(self, node: Any) -> Any:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        site = self.site(node)
        return node if site is None else self.call("_fa_e", node, ast.Constant(site), node)

    def event(self, what: str, node: ast.stmt) -> ast.stmt:
        where = f"{self.file}:{node.lineno}"
        made = self.call("_fa_v", node, ast.Constant(what), ast.Constant(where))
        return ast.copy_location(ast.Expr(made), node)

    def after(self, node: Any) -> Any:
        if self.only is not None:
            return node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node  # a docstring
        # Before and after, so that what draws random numbers is known.
        return [self.event("before", node), node, self.event("after", node)]


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the program's own modules instrumented."""

    def __init__(self, execution: Instrumented) -> None:
        self.execution = execution

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        for tail in (Path(*name.split(".")).with_suffix(".py"), Path(*name.split("."), "__init__.py")):
            file = self.execution.folder / tail
            if file.is_file():
                package = [str(file.parent)] if tail.name == "__init__.py" else None
                return importlib.util.spec_from_file_location(
                    name, file, loader=self, submodule_search_locations=package
                )
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__file__
        exec(self.execution.compile(Path(module.__file__)), module.__dict__)


class Instrumented(Execution):
    """A program whose expressions pass through `seen`, and whose loops and statements are told to `event`."""

    def __init__(self, folder: Path, only: set[Site] | None = None) -> None:
        super().__init__(folder)
        self.only, self.sites = only, list[Site]()
        builtins._fa_e, builtins._fa_v = self.seen, self.event  # type: ignore[attr-defined]
        sys.meta_path.insert(0, _Loader(self))

    def compile(self, path: Path) -> CodeType:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = str(path.relative_to(self.folder))
        made = _Instrument(file, self.sites, self.only)
        head = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        tree.body = head + made.body([s for s in tree.body if s not in head])
        return compile(ast.fix_missing_locations(tree), str(path), "exec")

    def seen(self, site: int, value: Any) -> Any:
        return value

    def event(self, what: str, where: str) -> None:
        pass


def items_of(value: Any) -> list[Any]:
    """What a sequence holds, without its own methods: they may be the program's, instrumented as well."""
    base = next(b for b in (list, tuple, deque, set) if isinstance(value, b))
    found = []
    for item in base.__iter__(value):  # not `list(...)`, which asks for a length
        found.append(item)
    return found


def tensors_in(value: Any, depth: int = 3) -> list[torch.Tensor]:
    """The tensors in a value, those in containers and plain objects too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0 or isinstance(value, (str, bytes, int, float, type(None), torch.nn.Module, type, ModuleType)):
        return []
    if isinstance(value, dict):
        parts = [*dict.values(value)]
    elif isinstance(value, (list, tuple, set, deque)):
        parts = items_of(value)
    elif callable(value) or isinstance(value, torch.optim.Optimizer):
        return []
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    return [t for p in parts[:200] for t in tensors_in(p, depth - 1)]


def kind_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None:
            return "history"
        if value.requires_grad:
            return "leaf"
        return "tensor" if value.is_floating_point() else "index"
    if isinstance(value, torch.nn.Module):
        return "module"
    if isinstance(value, torch.optim.Optimizer):
        return "optimizer"
    if isinstance(value, (bool, int, float)):
        return "number"
    if isinstance(value, (list, tuple, dict, deque, set)):
        return "holds" if any(t.grad_fn is not None for t in tensors_in(value)) else "container"
    if value is None:
        return "none"
    return "function" if callable(value) else "object"


def leaves_of(roots: Any, limit: int = 20_000) -> list[torch.Tensor]:
    """The leaves behind some tensors."""
    seen: set[Any] = set()
    found: list[torch.Tensor] = []
    todo = [t.grad_fn if isinstance(t, torch.Tensor) else t.node for t in roots]
    while todo and len(seen) < limit:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [n for n, _ in node.next_functions]
    return found


class _Survey(Instrumented):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.facts: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.random: set[str] = set()
        self.ran: dict[str, int] = {}
        self.state: dict[str, Any] = {}
        self.known: dict[int, torch.Tensor] = {}
        self.optimizers: list[torch.optim.Optimizer] = []

    def leaf(self, tensor: torch.Tensor) -> int:
        self.known[id(tensor)] = tensor  # kept, so that no other takes its number
        return list(self.known).index(id(tensor))

    def seen(self, site: int, value: Any) -> Any:
        fact = self.facts.setdefault(site, {"count": 0, "kinds": [], "scalar": True, "type": "", "hashed": True})
        fact["count"] += 1
        kind = kind_of(value)
        if kind not in fact["kinds"]:
            fact["kinds"].append(kind)
        fact["type"] = type(value).__name__
        if isinstance(value, torch.Tensor):
            fact["scalar"] = fact["scalar"] and value.dim() == 0
            if value.grad_fn is not None:
                fact["op"] = value.grad_fn.name()
                if "leaves" not in fact:
                    fact["leaves"] = sorted({self.leaf(t) for t in leaves_of([value])})
        elif kind == "module" and "leaves" not in fact and "_parameters" in value.__dict__:
            fact["leaves"] = sorted({self.leaf(t) for t in value.parameters()})
        elif kind == "optimizer":
            fact["optimizer"] = self.number(value)
        return value

    def number(self, optimizer: torch.optim.Optimizer) -> int:
        if not any(o is optimizer for o in self.optimizers):
            self.optimizers.append(optimizer)
        return next(i for i, o in enumerate(self.optimizers) if o is optimizer)

    def event(self, what: str, where: str) -> None:
        if what == "before":
            self.state[where] = torch.get_rng_state()
        elif what == "after":
            self.ran[where] = self.ran.get(where, 0) + 1
            if where in self.state and not torch.equal(self.state.pop(where), torch.get_rng_state()):
                self.random.add(where)
        else:
            self.events.append({"what": what, "where": where})


def survey(folder: Path) -> dict[str, Any]:
    """Runs a right program once and tells what every expression was, and what passes and steps there were."""
    self = _Survey(folder)

    def around(run: Any, outputs: Any, args: Any) -> Any:
        event = {
            "what": "pass",
            "stack": self.frames(sys._getframe(1)),
            "retain": bool(args[1]),
            "create": bool(args[2]),
            "leaves": sorted({self.leaf(t) for t in leaves_of(outputs)}),
        }
        self.events.append(event)
        return run()

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        owned = [p for g in optimizer.param_groups for p in g["params"]]
        self.events.append(
            {
                "what": "step",
                "stack": self.frames(sys._getframe(1)),
                "optimizer": self.number(optimizer),
                "leaves": sorted({self.leaf(p) for p in owned}),
                "filled": sorted({self.leaf(p) for p in owned if p.grad is not None}),
            }
        )

    clear = torch.optim.Optimizer.zero_grad

    def cleared(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        self.events.append(
            {"what": "clear", "stack": self.frames(sys._getframe(1)), "optimizer": self.number(optimizer)}
        )
        return clear(optimizer, *args, **kwargs)

    torch.optim.Optimizer.zero_grad = cleared  # type: ignore[method-assign]
    engine(around)
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    register_optimizer_step_pre_hook(stepped)
    answer = self.start()
    answer["facts"] = [[*self.sites[i], fact] for i, fact in self.facts.items()]
    answer["events"] = self.events
    answer["random"] = sorted(self.random)
    answer["ran"] = self.ran
    return answer


# -- the oracle --------------------------------------------------------------------------------------------------------------

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class _Oracle(Instrumented):
    """Knows which tensors carry the fault, because the operator marked the expression that gives them."""

    def __init__(self, folder: Path, tags: set[Site]) -> None:
        super().__init__(folder, tags)
        self.carried: dict[Any, int] = {}
        """The tagged tensors' nodes, with the number of passes made before they were seen."""
        self.steps: list[Any] = []
        self.passes: list[dict[str, Any]] = []
        self.names: set[str] = set()

    def seen(self, site: int, value: Any) -> Any:
        for tensor in tensors_in(value):
            if tensor.grad_fn is not None:
                self.carried.setdefault(tensor.grad_fn, len(self.passes))
        return value

    def built(self, node: Any) -> set[tuple[str, int]]:
        text = "\n".join(node.metadata.get("traceback_", ()))
        pairs = ((self.user(f), int(n)) for f, n in _FRAME.findall(text))
        return {(f, n) for f, n in pairs if f is not None}

    def recurs(self, elder: set[Any], new: list[Any]) -> bool:
        """Whether what is newly made at an old value's own place was made from the old value."""
        places = {p for n in elder if (p := self.innermost(n)) is not None}
        return any(self.innermost(n) in places and _behind([n]) & elder for n in new)

    def innermost(self, node: Any) -> tuple[str, int] | None:
        text = "\n".join(node.metadata.get("traceback_", ()))
        pairs = [(self.user(f), int(n)) for f, n in _FRAME.findall(text)]
        return next(((f, n) for f, n in reversed(pairs) if f is not None), None)

    def spelled(self, frame: FrameType | None, wanted: set[Any]) -> None:
        """The names by which the program reaches tensors that some nodes made."""
        seen: set[int] = set()
        while frame is not None:
            if self.user(frame.f_code.co_filename) is not None:
                for scope in (frame.f_locals, frame.f_globals):
                    for name, value in list(scope.items()):
                        if not name.startswith("__"):
                            self.look(name, value, wanted, 4, seen)
            frame = frame.f_back

    def look(self, name: str, value: Any, wanted: set[Any], depth: int, seen: set[int]) -> bool:
        if isinstance(value, torch.Tensor):
            if value.grad_fn is not None and value.grad_fn in wanted:
                self.names.add(name)
                return True
            return False
        if depth == 0 or isinstance(value, (str, bytes, int, float, type(None), type, ModuleType)):
            return False
        parts: list[tuple[str, Any]]
        if isinstance(value, dict):
            parts = [(f"{name}[...]", v) for v in [*dict.values(value)][:300]]
        elif isinstance(value, (list, tuple, deque)):
            parts = [(f"{name}[...]", v) for v in items_of(value)[:300]]
            fields = getattr(value, "_fields", None)
            parts += [(f"{name}.{f}", getattr(value, f)) for f in fields or ()]
        elif isinstance(value, torch.nn.Module):
            inner = {**value.__dict__, **value._buffers, **value._modules}
            parts = [(f"{name}.{k}", v) for k, v in inner.items() if not k.startswith("_") or k[:2] != "__"]
            parts = [(n, v) for n, v in parts if not n.endswith(("._parameters", "._modules", "._buffers"))]
        elif hasattr(value, "__closure__") and value.__closure__:
            free = value.__code__.co_freevars
            parts = [(n, c.cell_contents) for n, c in zip(free, value.__closure__, strict=True) if _filled(c)]
        else:
            parts = [(f"{name}.{k}", v) for k, v in list(getattr(value, "__dict__", {}).items())[:100]]
        found = False
        for inner_name, inner_value in parts:
            found = self.look(inner_name, inner_value, wanted, depth - 1, seen) or found
        if found and isinstance(value, (list, tuple, dict, deque)):
            self.names.add(name)
        return found


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _walk(roots: Any) -> dict[Any, None]:
    seen: dict[Any, None] = {}
    todo = [t.grad_fn if isinstance(t, torch.Tensor) else t.node for t in roots]
    while todo and len(seen) < 20_000:
        node = todo.pop()
        if node is None or node in seen or hasattr(node, "variable"):
            continue
        seen[node] = None
        todo += [n for n, _ in node.next_functions]
    return seen


def _saves(node: Any) -> bool:
    return any(a.startswith("_raw_saved") for a in dir(node)) or not hasattr(node, "_input_metadata")


class _Enough(BaseException):
    """The oracle has seen what it wanted."""


def oracle(folder: Path, tags: list[Site]) -> dict[str, Any]:
    """Runs a mutant and tells, from the objects: where what is met again was built, freed, and by what names it went.

    The failing pass is let pass, so that the step that would have used it is seen as well.
    """
    self = _Oracle(folder, {tuple(t) for t in tags})  # type: ignore[misc]
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    answer: dict[str, Any] = {"met": "none"}

    def around(run: Any, outputs: Any, args: Any) -> Any:
        frame = sys._getframe(1)
        record = {
            "stack": self.frames(frame),
            "walked": _walk(outputs),
            "retain": bool(args[1]),
            "player": None,
            "steps": len(self.steps),
        }
        if answer["met"] != "none":
            raise _Enough
        if self.carried:
            self.spelled(frame, set(self.carried))
        try:
            result = run()
        except RuntimeError as error:
            if error_kind(str(error)) == "other":
                raise
            met(record, frame, str(error))
            if args[-1]:  # nothing is returned
                return ()
            raise _Enough from None
        self.passes.append(record)
        return result

    def met(record: dict[str, Any], frame: FrameType, message: str) -> None:
        walked = record["walked"]
        carried = [n for n in self.carried if n in walked]
        old = _old(self.passes, walked)
        shared = {n for n, _ in old}
        heads = set(carried) & (shared | _above(carried, shared)) if carried else shared
        answer["met"] = error_kind(message)
        answer["failed"] = record["stack"][:1]
        answer["built"] = sorted({b for n in heads for b in self.built(n)})
        behind = _behind(heads) if carried else shared
        freed = [p for n, p in old if n in behind]
        answer["freed"] = sorted({p["stack"][0] for p in freed if p["stack"]})
        self.spelled(frame, heads)
        last = max((self.passes.index(p) for p in freed), default=-1)
        elder = {n for n in heads if self.carried.get(n, 0) <= last}
        answer["recurs"] = self.recurs(elder, [n for n in walked if n not in shared])
        answer["again"] = any(e > last for e in self.carried.values())
        answer["same_place"] = last >= 0 and self.passes[last]["stack"] == record["stack"]
        answer["steps_between"] = len(self.steps) - self.passes[last]["steps"] if last >= 0 else 0
        answer["tagged"], answer["shared"] = len(carried), len(shared)
        answer["ages"] = len({self.carried[n] for n in elder if n in self.carried})
        answer["_freed"] = last

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        for p in self.passes:
            if p["player"] is None:
                p["player"] = id(optimizer)
        self.steps.append(optimizer)
        if answer["met"] != "none":
            freed = answer.get("_freed", -1)
            answer["players"] = freed >= 0 and self.passes[freed]["player"] != id(optimizer)
            raise _Enough

    from torch.optim.optimizer import register_optimizer_step_pre_hook

    register_optimizer_step_pre_hook(stepped)
    engine(around)
    out = self.start()
    answer.setdefault("players", False)
    answer["names"] = sorted(self.names)
    return {**out, **answer}


def _old(passes: list[dict[str, Any]], walked: dict[Any, None]) -> list[tuple[Any, dict[str, Any]]]:
    """The nodes of a failing pass that earlier passes freed, each with the last that did."""
    found = {}
    for p in passes:
        if not p["retain"]:
            for node in walked:
                if node in p["walked"]:
                    found[node] = p
    return list(found.items())


def _behind(nodes: Any) -> set[Any]:
    seen: set[Any] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [n for n, _ in node.next_functions]
    return seen


def _above(nodes: Any, wanted: set[Any]) -> set[Any]:
    """Those of some nodes behind which a wanted one lies."""
    return {n for n in nodes if _behind([n]) & wanted}
