# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of a report, read off the record's classes.

`python -m secondpass.render.schema` prints it; docs/schema/secondpass-1.json is that text, and a test compares them.
"""

from __future__ import annotations

import dataclasses
import json
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..record import SCHEMA, Finding, Proof, Report

__all__ = ["schema"]

_SCALARS = {str: "string", int: "integer", bool: "boolean", float: "number"}

# What the annotations cannot say. Kinds of remedies and causes stay open: a new one is no new version.
_CLOSED: dict[tuple[type, str], dict[str, Any]] = {
    (Finding, "code"): {"type": "string", "pattern": "^SP[0-9]{3}$"},
    (Finding, "severity"): {"enum": ["error", "warning"]},
    (Proof, "status"): {"enum": ["proven", "refuted", "not run"]},
    (Report, "schema"): {"const": SCHEMA},
}


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12). Unknown fields are allowed: readers ignore them."""
    definitions: dict[str, Any] = {}
    _object(Report, definitions)
    report = definitions.pop("Report")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A report of secondpass ({SCHEMA})",
        **report,
        "$defs": dict(sorted(definitions.items())),
    }


def _object(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = cls.__name__
    if name not in definitions:
        definitions[name] = {}  # holds the place, should a class ever hold itself
        hints = get_type_hints(cls)
        fields = dataclasses.fields(cls)
        definitions[name] = {
            "description": cls.__doc__.split("\n")[0],
            "type": "object",
            "properties": {f.name: _CLOSED.get((cls, f.name)) or _type(hints[f.name], definitions) for f in fields},
            "required": [f.name for f in fields],
        }
    return {"$ref": f"#/$defs/{name}"}


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if dataclasses.is_dataclass(hint):
        return _object(hint, definitions)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        return {"anyOf": [*(_type(a, definitions) for a in inner), {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0], definitions)}
    if origin is dict:
        return {"type": "object"}
    return {"type": _SCALARS[hint]} if hint in _SCALARS else {}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
