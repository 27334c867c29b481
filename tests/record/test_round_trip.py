# SPDX-License-Identifier: BSD-3-Clause
"""Every record class comes back from JSON as it was."""

from __future__ import annotations

import dataclasses
import json
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secondpass import record
from secondpass.record import Path, Place, Report, Trace, from_plain, to_plain

# Traces are large to draw; eight of each class and both ways meet every field several times.
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
CLASSES = [v for v in vars(record).values() if dataclasses.is_dataclass(v) and isinstance(v, type)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def values(hint: Any) -> st.SearchStrategy:
    """All values of an annotation that the record uses; a new kind of annotation fails here, not in the field."""
    if dataclasses.is_dataclass(hint):
        return objects(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, args))
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, args))
    if origin is frozenset:
        return st.frozensets(values(args[0]), max_size=3)
    if origin is Literal:
        return st.sampled_from(args)
    if origin is dict:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=2)
    simple = {
        str: st.text(max_size=8),
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        type(None): st.none(),
        Any: JSON,
    }
    return simple[hint]


def objects(cls: type) -> st.SearchStrategy:
    hints = get_type_hints(cls)
    return st.builds(cls, **{f.name: st.deferred(lambda h=hints[f.name]: values(h)) for f in dataclasses.fields(cls)})


def through_json(value: Any) -> Any:
    return from_plain(type(value), json.loads(json.dumps(to_plain(value))))


def test_the_record_has_its_classes():
    assert {"Place", "Pass", "Trace", "Finding", "Remedy", "Report"} <= {c.__name__ for c in CLASSES}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
@given(data=st.data())
@FEW
def test_round_trip(cls, data):
    value = data.draw(objects(cls))
    assert through_json(value) == value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
@given(data=st.data())
@FEW
def test_unknown_fields_are_ignored(cls, data):
    value = data.draw(objects(cls))
    plain = to_plain(value) | {"a field of a later version": [1]}
    assert from_plain(cls, plain) == value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_absent_fields_take_their_default(cls):
    none = dataclasses.MISSING
    needed = [f for f in dataclasses.fields(cls) if f.default is none and f.default_factory is none]
    samples = {"int": 1, "Path": Path("x"), "Place": Place("x", 1)}
    least = {f.name: samples.get(str(f.type), "x") for f in needed}
    assert from_plain(cls, to_plain(least)) == cls(**least)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_records_are_frozen(cls):
    assert cls.__dataclass_params__.frozen


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match="Place: line missing"):
        from_plain(Place, {"file": "a.py"})


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_only_objects_are_read(data):
    with pytest.raises(ValueError, match="a JSON object was expected"):
        from_plain(Trace, data)


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"schema": "secondpass/2"}', '{"schema": null}', "3"])
def test_another_version_is_refused(text):
    with pytest.raises(ValueError, match="not a secondpass report of version 1"):
        Report.from_json(text)


def test_what_is_not_json_is_refused():
    with pytest.raises(json.JSONDecodeError):
        Report.from_json("no JSON")


def test_text_is_written_as_it_is():
    assert "größe" in Report(notes=("größe",)).to_json()


def test_a_place_reads_like_a_traceback():
    assert str(Place("a.py", 3)) == "a.py:3"
    assert str(Place("a.py", 3, "train")) == "a.py:3 in train"
