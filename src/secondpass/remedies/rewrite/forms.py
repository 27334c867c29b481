# SPDX-License-Identifier: BSD-3-Clause
"""How to write `x = x.detach()` when `x` may be a tuple, a list, a dict or nested.

The source usually tells: what is assigned, what a function returns, how it is indexed. Where it does not, the forms are
tried one after the other and the proof decides.
"""

from __future__ import annotations

import re

import libcst as cst

from ..edit.source import Source, walk
from ..find.flow import assigned_value, base_of, dotted, expressions, plain, reads, simple, written
from ..find.project import Project

__all__ = ["detached", "guess"]

_FORMS = {
    "tensor": "{n} = {n}.detach()",
    "leaf": "{n} = {n}.detach().requires_grad_()",
    "tuple": "{n} = tuple(part.detach() for part in {n})",
    "list": "{n} = [part.detach() for part in {n}]",
    "dict": "{n} = {{key: value.detach() for key, value in {n}.items()}}",
    "tuples": "{n} = [tuple(part.detach() for part in layer) for layer in {n}]",
    "lists": "{n} = [[part.detach() for part in layer] for layer in {n}]",
    "dict of tuples": "{n} = {{key: tuple(part.detach() for part in value) for key, value in {n}.items()}}",
    "dict of tuples or None": (
        "for key, value in {n}.items():\n"
        "    if value is not None:\n"
        "        {n}[key] = tuple(part.detach() for part in value)"
    ),
    "dict of lists": "{n} = {{key: [part.detach() for part in value] for key, value in {n}.items()}}",
    "dict of dicts": "{n} = {{key: {{k: v.detach() for k, v in value.items()}} for key, value in {n}.items()}}",
    "dicts": "{n} = [{{key: value.detach() for key, value in part.items()}} for part in {n}]",
    "record": "{n} = type({n})(*(part.detach() for part in {n}))",
    "each key": "for key in {n}:\n    {n}[key] = {n}[key].detach()",
    "each place": "{n}[:] = [part.detach() for part in {n}]",
}
_EACH = {"values": ".values()", "parts": ""}
"""Objects in a container, each with an attribute that has history: `values:h`."""
_ORDER = ("tensor", "tuple", "list", "dict", "tuples", "record")
_NESTED = {
    "dt": ["dict of tuples", "dict of lists"],
    "dd": ["dict of dicts"],
    "td": ["dicts"],
    "tt": ["tuples", "lists"],
}
"""What two keys of a carrier's name tell: `d` a word, `t` a number."""
_MODULES = {
    "LSTM": "tuple-second",
    "GRU": "tensor",
    "RNN": "tensor",
    "LSTMCell": "pair",
    "GRUCell": "tensor",
    "RNNCell": "tensor",
}


def detached(name: str, form: str) -> list[str]:
    """The lines that take the history off a name."""
    if ":" in form:
        kind, attribute = form.split(":")
        return [f"for part in {name}{_EACH[kind]}:", f"    part.{attribute} = part.{attribute}.detach()"]
    return _FORMS[form].format(n=name).splitlines()


def guess(project: Project, name: str) -> list[str]:
    """The forms that a name may have, likeliest first."""
    return project.once(("forms", name), lambda: _guess(project, name))


def _guess(project: Project, name: str) -> list[str]:
    element = re.fullmatch(r"[^\[\]]*\[([^\]]*)\]\.(\w+)", name)
    if element:
        key, attribute = element.groups()
        kinds = ("values", "parts") if key[:1] in {"'", '"'} else ("parts", "values")
        return [f"{kind}:{attribute}" for kind in kinds]
    keys = "".join("d" if k[:1] in {"'", '"'} else "t" for k in re.findall(r"\[([^\]]*)\]", name))
    if len(keys) > 1:
        forms = [*_NESTED.get(keys, []), "tuples"]
        return ["dict of tuples or None", *forms] if keys == "dt" and _begins_unset(project, name) else forms
    if keys == "d":
        return ["dict"]
    if any(_differentiated(source, name) for source in project.sources):
        return ["leaf", "tensor"]
    hint, name = _hint(project, name), base_of(name)
    votes = dict.fromkeys(_ORDER, 0)
    wanted = plain(name)
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            for form in _written_forms(project, source, statement, wanted, depth=3):
                votes[form] += 3
        for form in _read_forms(source, wanted):
            votes[form] += 1
    if votes["tensor"] == 0 and not any(votes.values()):
        votes["tensor"] = 1
    for form in hint:
        votes[form] += 100
    return sorted(_ORDER, key=lambda f: (-votes[f], _ORDER.index(f)))


def _begins_unset(project: Project, name: str) -> bool:
    """Whether a dictionary is made with None in it: `self.memory = {"state": None}`."""
    wanted = plain(base_of(name)).rpartition(".")[2]
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            value = assigned_value(statement)
            if isinstance(value, cst.Dict) and any(plain(n).rpartition(".")[2] == wanted for n in written(statement)):
                if any(isinstance(e.value, cst.Name) and e.value.value == "None" for e in value.elements):
                    return True
    return False


def _differentiated(source: Source, name: str) -> bool:
    """Whether a gradient is asked for by name: `autograd.grad(loss, theta)`, `theta.grad`."""
    for node in walk(source.module):
        if isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] == "grad" and len(node.args) > 1:
            inputs = node.args[1].value
            asked = [e.value for e in inputs.elements] if isinstance(inputs, cst.Tuple | cst.List) else [inputs]
            if any(dotted(a) == name for a in asked):
                return True
        if isinstance(node, cst.Attribute) and node.attr.value == "grad" and dotted(node.value) == name:
            return True
    return False


def _hint(project: Project, name: str) -> list[str]:
    """What a carrier's own name says: `state["h"]` is a dict, `state[1]` some tuple."""
    found = re.findall(r"\[([^\]]*)\]", name)
    if not found:
        return []
    if found[0][:1] in {"'", '"'}:
        return ["dict"]
    if not found[0].isdigit():
        return []
    fields = {
        a.attr.value
        for s in project.sources
        for a in walk(s.module)
        if isinstance(a, cst.Attribute) and dotted(a.value) == base_of(name)
    }
    named = [
        c
        for s in project.sources
        for c in s.classes
        if any((dotted(b.value) or "").endswith("NamedTuple") for b in c.bases)
    ]
    own = {dotted(n.target) for c in named for n in walk(c) if isinstance(n, cst.AnnAssign)}
    return ["record"] if fields & own else ["tuple", "list", "record"]


def _written_forms(project: Project, source: Source, statement: cst.BaseStatement, name: str, depth: int) -> list[str]:
    if not isinstance(statement, cst.SimpleStatementLine) or name not in written(statement):
        return []
    found = []
    for small in statement.body:
        if not isinstance(small, cst.Assign):
            continue
        for target in small.targets:
            if dotted(target.target) == name:
                found += _forms_of(project, small.value, depth)
            elif isinstance(target.target, cst.Tuple):
                places = [dotted(e.value) for e in target.target.elements]
                if name in places:
                    found += _element_forms(project, source, small.value, places.index(name), depth)
    return found


def _forms_of(project: Project, value: cst.BaseExpression, depth: int) -> list[str]:
    """The form of an expression's value."""
    if isinstance(value, cst.Tuple):
        return ["tuple"]
    if isinstance(value, cst.List | cst.ListComp):
        inner = value.elt if isinstance(value, cst.ListComp) else (value.elements[0].value if value.elements else None)
        return ["tuples" if isinstance(inner, cst.Tuple) else "list"]
    if isinstance(value, cst.Dict | cst.DictComp):
        return ["dict"]
    if isinstance(value, cst.BinaryOperation):
        return ["tensor"]
    if isinstance(value, cst.Call) and depth:
        func = dotted(value.func) or ""
        if func in {"tuple", "list", "dict"}:
            return [func]
        kind = _module_kind(project, func)
        if kind:
            return ["tuple"] if kind == "pair" else ["tensor"]
        if func.startswith("torch."):
            return ["tensor"]
        out = []
        for where, function in project.callees(value):
            for returned in _returns(where, function):
                out += _forms_of(project, returned, depth - 1) if not isinstance(returned, cst.Name) else []
        return out
    return []


def _element_forms(project: Project, source: Source, value: cst.BaseExpression, index: int, depth: int) -> list[str]:
    """The form of one element of an expression that is taken apart."""
    if isinstance(value, cst.Tuple) and index < len(value.elements):
        return _forms_of(project, value.elements[index].value, depth)
    if not isinstance(value, cst.Call) or not depth:
        return []
    kind = _module_kind(project, dotted(value.func) or "")
    if kind:
        return ["tuple"] if kind == "tuple-second" and index == 1 else ["tensor"]
    out = []
    for where, function in project.callees(value):
        for returned in _returns(where, function):
            if isinstance(returned, cst.Tuple) and index < len(returned.elements):
                element = returned.elements[index].value
                inner = dotted(element)
                if inner:
                    for statement in simple(where.body(function)):
                        out += _written_forms(project, where, statement, inner, depth - 1)
                else:
                    out += _forms_of(project, element, depth - 1)
    return out


def _returns(source: Source, function: cst.FunctionDef) -> list[cst.BaseExpression]:
    return [
        small.value
        for s in simple(source.body(function))
        if isinstance(s, cst.SimpleStatementLine)
        for small in s.body
        if isinstance(small, cst.Return) and small.value is not None
    ]


def _module_kind(project: Project, name: str) -> str | None:
    """What a recurrent module called by this name returns, where the source makes it one."""
    return project.once(("recurrent", name), lambda: _find_module_kind(project, name))


def _find_module_kind(project: Project, name: str) -> str | None:
    last = name.rsplit(".", 1)[-1]
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if any(w.rsplit(".", 1)[-1] == last for w in written(statement)):
                for node in expressions(statement):
                    if isinstance(node, cst.Call):
                        made = (dotted(node.func) or "").rsplit(".", 1)[-1]
                        if made in _MODULES:
                            return _MODULES[made]
    return None


def _read_forms(source: Source, name: str) -> list[str]:
    found = []
    for node in reads(source.module, name) + [r for f in source.functions for r in reads(f, name)]:
        outer = source.parent.get(node)
        if isinstance(outer, cst.Subscript) and outer.value is node:
            index = outer.slice[0].slice if outer.slice else None
            if isinstance(index, cst.Index) and len(outer.slice) == 1:
                if isinstance(index.value, cst.SimpleString):
                    found.append("dict")
                elif isinstance(index.value, cst.Integer):
                    found.append("tuple")
        elif isinstance(outer, cst.Attribute) and outer.attr.value in {"items", "values", "keys"}:
            found.append("dict")
        elif isinstance(outer, cst.Assign) and outer.value is node and isinstance(outer.targets[0].target, cst.Tuple):
            found.append("tuple")
        elif isinstance(outer, cst.BinaryOperation | cst.UnaryOperation):
            found.append("tensor")
    return found
