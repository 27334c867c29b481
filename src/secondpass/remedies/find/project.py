# SPDX-License-Identifier: BSD-3-Clause
"""The user's files together: what trains what, what has history."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

import libcst as cst

from ..edit.source import Source, children, walk
from .flow import calls, dotted, method_call, names_read, simple, value_cut, written
from .places import Places, Scope

__all__ = ["Project", "Scope", "pairs_of", "without_history"]

_MAKERS = re.compile(r"(^|\.)(nn\.\w*[A-Z]\w*|Parameter|Sequential|ModuleList|ModuleDict)$")


class Project(Places):
    """Sources by the file name that places use, with what they say about training."""

    def _is_optimizer(self, name: str) -> bool:
        return name in self.optimizers

    # -- what has history ---------------------------------------------------------------------------------------------
    def tracked(self, source: Source, scope: Scope) -> set[str]:
        """Names in a function that have history, or give it when called: parameters, modules, what uses them."""
        return set(self.once(("tracked", id(scope)), lambda: self._find_tracked(source, scope)))

    def _find_tracked(self, source: Source, scope: Scope) -> set[str]:
        names: set[str] = set()
        if isinstance(scope, cst.FunctionDef):
            outer = source.scope(scope)
            names |= self.tracked(source, outer) if outer is not scope else set()
            owner = source.class_of(scope)
            if owner:
                names |= self._attributes(source, owner)
            called = {dotted(c.func) for c in calls(scope)}
            trained = {n.removesuffix(".parameters") for n in called if n and n.endswith(".parameters")}
            own = [p.name.value for p in scope.params.params]
            names |= {p for p in own if (p in called and p not in self.by_name) or p in trained}
        statements = list(simple(source.body(scope)))
        for _ in range(2):  # a second turn for names that a loop carries back to its beginning
            for statement in statements:
                self._spread(source, statement, names)
        return names

    def _spread(self, source: Source, statement: cst.BaseStatement, names: set[str]) -> None:
        if isinstance(statement, cst.For):
            inner = {dotted(c.func) or "" for c in calls(statement)}
            if any(dotted(statement.target) and f"{dotted(statement.target)}.requires_grad_" == n for n in inner):
                names |= {n for n in names_read(statement.iter) if "." not in n}
            if names_read(statement.iter) & names:
                names |= written(statement)
            return
        if not isinstance(statement, cst.SimpleStatementLine) or without_history(source, statement):
            return
        for small in statement.body:
            value = getattr(small, "value", None)
            if value is not None and isinstance(small, cst.Assign | cst.AnnAssign | cst.AugAssign):
                if self.gives_history(value, names):
                    names |= written(statement)
            elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
                func = small.value.func
                if isinstance(func, cst.Attribute) and func.attr.value in {"append", "extend", "add", "insert"}:
                    if any(self.gives_history(a.value, names) for a in small.value.args):
                        names |= {dotted(func.value) or ""} - {""}
                if isinstance(func, cst.Attribute) and func.attr.value == "requires_grad_" and dotted(func.value):
                    names.add(dotted(func.value) or "")

    def gives_history(self, value: cst.CSTNode, names: set[str]) -> bool:
        """Whether an expression reads something with history (and does not cut it), or makes a parameter or module."""
        if value_cut(value):
            return False
        if isinstance(value, cst.Call):
            if self.makes_leaf(value):
                return True
            # The object of a method stands in for the method: `model.loss(x)` has the history of the model.
            below: list[cst.CSTNode] = [a.value for a in value.args]
            below.append(value.func)
            return any(self.gives_history(b, names) for b in below)
        name = dotted(value)
        if name is not None:
            return name in names or (
                isinstance(value, cst.Attribute | cst.Subscript) and self.gives_history(value.value, names)
            )
        return any(self.gives_history(c, names) for c in children(value))

    def makes_leaf(self, call: cst.Call, depth: int = 2) -> bool:
        """Whether a call makes what is trained, or trains it: a module, a parameter, an optimizer."""
        return self.once(("leaf", id(call), depth), lambda: self._find_leaf(call, depth))

    def _find_leaf(self, call: cst.Call, depth: int) -> bool:
        func = dotted(call.func) or ""
        if (
            (_MAKERS.search(func) and not func.endswith("Loss"))
            or func.endswith("requires_grad_")
            or self.is_module(func)
        ):
            return True
        if any(a.keyword and a.keyword.value == "requires_grad" for a in call.args) or _looks_like_optimizer(call):
            return True
        # A function of the user's that builds and returns one. A module that is called at once is used, not kept.
        for _, function in self.by_name.get(func.rsplit(".", 1)[-1], []) if depth else ():
            used = {id(c.func) for c in calls(function)}
            if any(self.makes_leaf(c, depth - 1) for c in calls(function) if id(c) not in used):
                return True
        return False

    def leaves(self, source: Source, scope: Scope) -> set[str]:
        """Names whose tensors are made leaves after the fact: `for p in params.values(): p.requires_grad_()`."""
        return self.once(("leaves", id(scope)), lambda: self._find_leaves(source, scope))

    def _find_leaves(self, source: Source, scope: Scope) -> set[str]:
        found: set[str] = set()
        for statement in simple(source.body(scope)):
            if not isinstance(statement, cst.SimpleStatementLine):
                continue
            call = method_call(statement, "requires_grad_")
            if call is None or not isinstance(call.func, cst.Attribute) or not isinstance(statement.body[0], cst.Expr):
                continue
            name = dotted(call.func.value)
            found |= {name} if name else set()
            for loop in source.loops(statement):
                if isinstance(loop, cst.For) and name in written(loop):
                    found |= names_read(loop.iter)
        return found

    @cached_property
    def reads_gradients(self) -> bool:
        """Whether the program asks for `.grad` anywhere."""
        return any(
            isinstance(n, cst.Attribute) and n.attr.value == "grad" for s in self.sources for n in walk(s.module)
        )

    def is_module(self, name: str) -> bool:
        return self.once(("module", name), lambda: self._find_module(name))

    def _find_module(self, name: str) -> bool:
        last = name.rsplit(".", 1)[-1]
        for source in self.sources:
            for found in source.classes:
                if found.name.value == last:
                    bases = [dotted(b.value) or "" for b in found.bases]
                    return any(b.endswith("Module") or self.is_module(b) for b in bases if b != name)
        return False

    def _attributes(self, source: Source, owner: cst.ClassDef) -> set[str]:
        """`self.x` that some method sets to a module or a parameter, or calls though it is no method."""
        return self.once(("attributes", id(owner)), lambda: self._find_attributes(source, owner))

    def _find_attributes(self, source: Source, owner: cst.ClassDef) -> set[str]:
        methods = [f for f in source.functions if source.class_of(f) is owner]
        own = {f.name.value for f in methods}
        names: set[str] = set()
        for method in methods:
            for statement in simple(source.body(method)):
                self._spread(source, statement, names)
        called = {dotted(c.func) or "" for m in methods for c in calls(m)}
        names |= {n for n in called if n.startswith("self.") and n.count(".") == 1 and n[5:] not in own}
        return {n for n in names if n.startswith("self.")}

    # -- what trains what ---------------------------------------------------------------------------------------------
    @cached_property
    def optimizers(self) -> dict[str, set[str]]:
        """An optimizer's name -> the names whose parameters it was given."""
        found: dict[str, set[str]] = defaultdict(set)
        for source in self.sources:
            for statement in simple(source.module, nested=True):
                if not isinstance(statement, cst.SimpleStatementLine):
                    continue
                for small in statement.body:
                    value = getattr(small, "value", None)
                    if isinstance(small, cst.Assign | cst.AnnAssign) and value is not None:
                        for target, call in pairs_of(small, value):
                            if target in self.owners or _looks_like_optimizer(call):
                                read = {n for a in call.args for n in names_read(a)}
                                owners = {n.removesuffix(".parameters") for n in read if n.endswith(".parameters")}
                                found[target] |= owners or read - {"self"}
        return found

    def optimizer_of(self, step: cst.CSTNode) -> str | None:
        """The optimizer of `x.step()`, `x.step(closure)`, `scaler.step(x)`: one that was seen to step, or is used as one. Of
        what else has a `step`, a scheduler is made of an optimizer, and an environment is told something."""
        call = method_call(step, "step")
        if call is None or not isinstance(call.func, cst.Attribute):
            return None
        holder = dotted(call.func.value)
        given = dotted(call.args[0].value) if call.args else None
        known = self._known_optimizers
        if given in known or holder in known:
            return given if given in known else holder
        told = bool(call.args) and given not in self.by_name
        return None if told or holder in self._made_of_optimizers else holder

    @property
    def _known_optimizers(self) -> set[str]:
        return self.owners | set(self.optimizers) | self.once(("cleared",), self._cleared)

    def _cleared(self) -> set[str]:
        """What an optimizer's own attributes are asked of, somewhere."""
        ends = (".zero_grad", ".param_groups", ".add_param_group")
        nodes = (n for source in self.sources for n in walk(source.module) if isinstance(n, cst.Attribute))
        names = [dotted(n) or "" for n in nodes if n.attr.value in {"zero_grad", "param_groups", "add_param_group"}]
        return {n.removesuffix(end) for n in names for end in ends if n.endswith(end)}

    @property
    def _made_of_optimizers(self) -> set[str]:
        return set(self.once(("made_of",), self._find_made_of))

    def _find_made_of(self) -> set[str]:
        known, found = self._known_optimizers, set[str]()
        for source in self.sources:
            for statement in simple(source.module, nested=True):
                for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                    if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
                        pairs = pairs_of(small, small.value)
                        found |= {target for target, call in pairs if any(dotted(a.value) in known for a in call.args)}
        return found - known


def pairs_of(small: cst.Assign | cst.AnnAssign, value: cst.BaseExpression) -> list[tuple[str, cst.Call]]:
    """`a = f()` and `a, b = f(), g()` as pairs of a name and a call."""
    out: list[tuple[str, cst.Call]] = []
    places = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
    for place in places:
        if isinstance(place, cst.Tuple) and isinstance(value, cst.Tuple) and len(place.elements) == len(value.elements):
            both = [(p.value, v.value) for p, v in zip(place.elements, value.elements, strict=True)]
        else:
            both = [(place, value)]
        out += [(dotted(p) or "", v) for p, v in both if isinstance(v, cst.Call) and dotted(p)]
    return out


def _looks_like_optimizer(call: cst.Call) -> bool:
    name = dotted(call.func) or ""
    inner = any(isinstance(n, cst.Attribute) and n.attr.value == "parameters" for a in call.args for n in walk(a))
    return bool(
        re.search(r"(^|\.)(SGD|R?Adam\w*|NAdam|RMSprop|Adagrad|Adadelta|LBFGS|Rprop|ASGD|Adafactor|Muon|Lion)$", name)
    ) or (inner and "optim" in name.lower())


def without_history(source: Source, statement: cst.CSTNode) -> bool:
    """Whether a statement stands under `no_grad` or `inference_mode`."""
    for outer in source.up(statement):
        if isinstance(outer, cst.With) and any(
            (dotted(getattr(i.item, "func", i.item)) or "").endswith(("no_grad", "inference_mode")) for i in outer.items
        ):
            return True
        if isinstance(outer, cst.FunctionDef):
            return any(
                (dotted(getattr(d.decorator, "func", d.decorator)) or "").endswith(("no_grad", "inference_mode"))
                for d in outer.decorators
            )
    return False
