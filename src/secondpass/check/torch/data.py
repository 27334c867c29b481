# SPDX-License-Identifier: BSD-3-Clause
"""`torch.utils.data`: what a loader gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..interpreter.library import CLASSES, function, models
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, List, Object, Stream, Tensor, Unknown
from .tensors import operate

__all__: list[str] = []

SAMPLE = 1_500
"""Steps after which the making of a sample is left."""


def _loader_init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    owner.attrs["dataset"] = args[1] if len(args) > 1 else kwargs.get("dataset", Unknown(plain=True))
    owner.attrs["batch_size"] = kwargs.get("batch_size", args[2] if len(args) > 2 else 1)
    owner.hidden["collate"] = kwargs.get("collate_fn")


def _batches(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Stream:
    owner = args[0]

    def make() -> Iterator[Any]:
        while True:
            yield _batch(m, owner)

    return Stream(make, None)


def _batch(m: Machine, owner: Object) -> Any:
    sample = _sample(m, owner.attrs.get("dataset"))
    collate = owner.hidden.get("collate")
    if collate is not None:
        made = m.call(collate, [List([sample, sample])], {})
        return _collated(m, made)
    return _collated(m, sample)


def _sample(m: Machine, dataset: Any) -> Any:
    if isinstance(dataset, Object):
        tensors = dataset.hidden.get("tensors")
        if tensors is not None:
            return tuple(
                operate(m, "select", [t], {}) if isinstance(t, Tensor) else Unknown(plain=True) for t in tensors
            )
        inner = dataset.hidden.get("inner")
        if inner is not None:
            return _sample(m, inner)
        found = dataset.cls.find("__getitem__")
        if found and "costly" not in dataset.hidden:
            # Making a sample of data may take any number of steps, and tells nothing of what is trained with it.
            item = found[0]
            made = m.within(SAMPLE, lambda: (m.call(item, [dataset, Unknown(plain=True)], {}),))
            if made is not None:
                return made[0]
            dataset.hidden["costly"] = True
        found = dataset.cls.find("__iter__")
        if found:
            return Unknown(plain=True)
    if isinstance(dataset, (list, tuple)) and dataset and len(dataset) < 100:
        return dataset[0]
    return Unknown(plain=True)


def _collated(m: Machine, sample: Any) -> Any:
    """A batch of samples: tensors are stacked, all else becomes tensors or stays unknown, without history."""
    if isinstance(sample, Tensor):
        return operate(m, "stack", [sample], {}) if sample.needs else _fresh()
    if isinstance(sample, tuple):
        return tuple(_collated(m, s) for s in sample)
    if isinstance(sample, list):
        return List([_collated(m, s) for s in sample], m.short)
    if isinstance(sample, dict):
        return Dict({k: _collated(m, v) for k, v in sample.items()}, m.short)
    if isinstance(sample, (int, float, bool)):
        return _fresh()
    return Unknown(("batch", Unknown().key), plain=True)


def _fresh() -> Tensor:
    """Data that no other batch has."""
    made = Tensor(False)
    made.born = made.store.serial
    return made


for _name in ("torch.utils.data.DataLoader", "torch_geometric.loader.DataLoader", "torch_geometric.data.DataLoader"):
    models(_name, __init__=_loader_init, __iter__=_batches)


def _tensors_init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[0].hidden["tensors"] = tuple(args[1:])
    args[0].attrs["tensors"] = tuple(args[1:])


def _tensors_item(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return _sample(m, args[0])


def _subset_init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[0].hidden["inner"] = args[1] if len(args) > 1 else kwargs.get("dataset")
    args[0].attrs["dataset"] = args[0].hidden["inner"]


models("torch.utils.data.Dataset")
models("torch.utils.data.IterableDataset", "torch.utils.data.Dataset")
models("torch.utils.data.TensorDataset", "torch.utils.data.Dataset", __init__=_tensors_init, __getitem__=_tensors_item)
models("torch.utils.data.Subset", "torch.utils.data.Dataset", __init__=_subset_init, __getitem__=_tensors_item)
models("torch.utils.data.Sampler")


@function("torch.utils.data.random_split")
def _random_split(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def part() -> Object:
        made = Object(CLASSES["torch.utils.data.Subset"])
        made.hidden["inner"] = args[0]
        made.attrs["dataset"] = args[0]
        return made

    sizes = args[1] if len(args) > 1 else kwargs.get("lengths")
    return tuple(part() for _ in range(len(sizes) if isinstance(sizes, (list, tuple)) else 2))
