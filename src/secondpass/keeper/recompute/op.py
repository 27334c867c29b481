# SPDX-License-Identifier: BSD-3-Clause
"""Operations, the values they make, and the tokens that stand for values in PyTorch's graph.

NOTE [ Tokens ]
A node holds a token, the token its value, the value its memory (detached) and its operation, the operation the values
it was given. Nothing points back: when the nodes die, all of it dies, and nothing waits for the garbage collector.

NOTE [ Casts ]
1. Under autocast a function casts its arguments for itself, and its nodes save what it has cast. Each such cast is an
   operation of its own beside the function's, of the same number and in the same segment. It is not on the tape.
2. It is known as one only where nothing else can be meant: the function saves its arguments as they are, and no other
   argument is as large. All else that a function saved is made by the function.
3. Run again, the function is given what was cast, if that is here or wanted anyway: then nothing is cast twice.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import torch

from .rng import Draw
from .state import Autocast, Settings

if TYPE_CHECKING:
    from ..saved.host import HostCopy
    from ..saved.mask import Bits

__all__ = [
    "GIVEN", "MADE", "OUTS", "PACKS", "PARAMETER", "SOURCE", "Form", "Forms", "Holder", "Op", "Ref", "Saved", "Slot",
    "Value", "bare", "copied", "form_of", "lazy", "view",
]  # fmt: skip

_INSIDE = 8  # what a function saved of its own is worth computing if it is no smaller than this part of its input
MADE, SOURCE, GIVEN, PARAMETER = "made", "source", "given", "parameter"
"""Kinds of values: computed again at will; made here, but only once; from outside; a parameter."""


Slot = tuple[str, int]
OUTS: tuple[Slot, ...] = tuple(("out", number) for number in range(16))
PACKS: tuple[Slot, ...] = tuple(("pack", number) for number in range(16))
"""The same objects for all operations: there are many of them, and Python's garbage collector counts each."""


class Holder(Protocol):
    """Who holds values, and what is around them: the store of a call."""

    held: int
    settings: Settings
    stepped: set[int]

    def refill(self, value: Value, tensor: torch.Tensor) -> None: ...

    def ran(self, ops: list[Op]) -> None: ...


class Value:
    """One state of one storage: see NOTE [ The tape ] 2.

    What is rare has a default in the class. There are many of them: what is asked for often lies in slots.
    """

    __slots__ = (
        "__dict__", "__weakref__", "at", "cheap", "counted", "data", "dense", "dtype", "fresh", "key", "kind", "nbytes", "op",
        "reads", "requires_grad", "segment", "slot", "store", "tokens", "trusted", "turn", "version",
    )  # fmt: skip

    dtype: torch.dtype
    """Of the first of its saved tensors."""
    written = False
    """Somebody wrote to it after it was made: what is held is not what was saved."""
    exposed = False
    """Its memory was handed out to others, who may write there without a version that tells so."""
    original: torch.Tensor | None = None
    """What lay there before that, to compute from."""
    outside = False
    """A forward wrote to memory from outside: anybody else may, too."""
    native = False
    """A node that keep did not see holds it too."""
    leaf = 0
    """Of a view of a parameter: the parameter's id."""
    bits: Bits | None = None
    host: HostCopy | None = None
    why: str | None = None
    """Why it can only be held."""
    anchor = False
    """Other segments are computed from it: it stays while passes are expected."""

    def __init__(self, store: Holder, key: int, version: int, nbytes: int, segment: int) -> None:
        self.store, self.key, self.version, self.nbytes, self.segment = store, key, version, nbytes, segment
        self.op: Op | None = None
        """What computes it; None where it can only be held."""
        self.slot = OUTS[0]
        """Which of the operation's results: a returned tensor, an argument it wrote to, or a tensor it saved."""
        self.kind = MADE
        self.requires_grad = False
        self.data: torch.Tensor | None = None
        """The memory, if it is held: bare, and detached: see NOTE [ Tokens ]."""
        self.at = 0
        """The version of `data`."""
        self.tokens = 0
        """How many saved tensors lie in it."""
        self.dense = False
        """The first of them fills all of it."""
        self.counted = 0
        """The bytes it counts while it is held: nothing for parameters and arguments."""
        self.fresh = False
        """What is here was computed again, and goes as it is read."""
        self.turn = self.reads = 0
        """The last pass that read it, and how many of its tokens that pass has read."""
        self.trusted = False
        """It was computed again once, and every bit was the same."""
        self.cheap = False
        """No matrix product is needed to compute it from what is held or waits."""

    @property
    def droppable(self) -> bool:
        """Could it be computed again, as far as it knows itself? What a function saves for itself is often tiny."""
        op = self.op
        if op is None or self.kind is not MADE or self.written or not self.counted:
            return False
        if self.slot[0] == "pack":
            enough = _INSIDE * self.nbytes
            for ref in op.inputs:
                if ref.value.nbytes > enough:
                    return False
        return True

    def give_up(self, why: str) -> None:
        """It can only be held."""
        self.op, self.kind, self.why = None, GIVEN if self.outside else SOURCE, why

    @property
    def here(self) -> bool:
        """Its memory is held, and nobody has written to it."""
        data = self.data
        return data is not None and data._version == self.at and not self.exposed

    def __del__(self) -> None:
        if self.data is not None and self.counted:
            self.store.held -= self.counted
        if self.bits is not None:
            self.store.held -= self.bits.nbytes


class Form:
    """How a tensor lies in its memory. Layers have the same forms again and again, and share them."""

    __slots__ = ("_contiguous", "_size", "dtype", "lazy", "offset", "shape", "stride")

    def __init__(
        self, dtype: torch.dtype, shape: torch.Size, stride: tuple[int, ...] | None, offset: Any, lazy: int
    ) -> None:
        self.dtype, self.shape = dtype, shape
        self.stride = stride
        """None of a layout that has no strides, which is held as it is."""
        self.offset, self.lazy = offset, lazy
        self._size: Any = None
        self._contiguous: bool | None = None

    @property
    def size(self) -> Any:
        """How many numbers. Asked for again and again."""
        if self._size is None:
            self._size = self.shape.numel()
        return self._size

    @property
    def contiguous(self) -> bool:
        if self._contiguous is None:
            self._contiguous = self.stride is not None and _contiguous(self.shape, self.stride)
        return self._contiguous


def form_of(tensor: torch.Tensor, forms: Forms) -> Form:
    """The form of a tensor."""
    if tensor.layout is not torch.strided:
        return Form(tensor.dtype, tensor.shape, None, 0, 0)
    key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), lazy(tensor))
    found = forms.get(key)
    if found is None:
        found = forms[key] = Form(*key)
    return found


Forms = dict[Any, Form]


class Saved:
    """What a node holds in place of a tensor it saved: see NOTE [ Tokens ]."""

    __slots__ = ("form", "turn", "value")

    def __init__(self, value: Value, form: Form) -> None:
        self.value, self.turn, self.form = value, 0, form


class Ref:
    """An argument of an operation: a value, and the form in which it was given."""

    __slots__ = ("form", "requires_grad", "value")

    def __init__(self, value: Value, form: Form, requires_grad: bool) -> None:
        self.value, self.form, self.requires_grad = value, form, requires_grad


class Op:
    """One call of a function. What is rare has a default in the class, as of a value."""

    __slots__ = (
        "__dict__", "_needs", "args", "autocast", "func", "grad", "inputs", "leaves", "number", "order", "packs",
        "plain", "results", "segment", "writes",
    )  # fmt: skip

    kwargs: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    why: str | None = None
    """Why it cannot be run again."""
    backends: tuple[bool, ...] | None = None
    """The kernels that an attention could choose from."""
    draw: Draw | None = None
    noise: Ref | None = None
    """What a dropout multiplied by."""
    cast: Any = None
    """Of a cast: the argument that was cast."""
    origin: Slot | None = None
    """Of a cast: which result of the function it was taken for at first."""
    casts: tuple[Op, ...] = ()
    """What autocast did to its arguments, as far as its nodes saved it: see NOTE [ Casts ]."""
    seconds: float | tuple[torch.cuda.Event, torch.cuda.Event] = 0.0

    def __init__(self, func: Any, number: int, segment: int) -> None:
        self.func, self.number, self.segment = func, number, segment
        self.order = 2 * number + 1
        """Operations are run again in this order: casts go before the operation that they belong to."""
        self.args: list[Any] = []
        self.inputs: list[Ref] = []
        self.leaves: tuple[tuple[torch.Tensor, int, bool], ...] = ()
        """Parameters among the arguments, their versions, and whether they learned then."""
        self.results: tuple[weakref.ref[Value], ...] = ()
        self.packs = 0
        """How many tensors its nodes saved."""
        self.autocast: Autocast | None = None
        self.writes = False
        """It writes to an argument."""
        self.grad = False
        """It is run again with a graph, because without one it came out differently."""
        self._needs: tuple[Value, ...] | None = None
        self.plain = False
        """Nothing is special about it. Known as soon as anybody has asked what it needs."""

    @property
    def name(self) -> str:
        return getattr(self.func, "__name__", str(self.func))

    def took(self) -> float:
        """Seconds. On a GPU only after it has been waited for."""
        if isinstance(self.seconds, tuple):
            return float(self.seconds[0].elapsed_time(self.seconds[1])) / 1e3
        return self.seconds

    def made(self) -> Iterator[Value]:
        """Its results, as far as somebody still needs them."""
        return (value for value in (result() for result in self.results) if value is not None)

    def all_made(self) -> Iterator[Value]:
        """The same, and what was cast for it."""
        yield from self.made()
        for cast in self.casts:
            yield from cast.made()

    def needs(self) -> tuple[Value, ...]:
        """What it is computed from. Asked for often, once the operation is over."""
        found = self._needs
        if found is None:
            noise = self.noise
            refs = self.inputs if noise is None else [*self.inputs, noise]
            found = self._needs = tuple([ref.value for ref in refs])
            special = self.writes or noise is not None or self.draw is not None or self.backends is not None
            self.plain = not special and self.cast is None
        return found

    def give_up(self, why: str) -> None:
        """It cannot be run again: its results can only be held."""
        self.why = why
        for value in self.made():
            value.give_up(why)
        self.args, self.kwargs, self.inputs, self.leaves, self.noise, self._needs = [], {}, [], (), None, None

    def give_up_inside(self, why: str) -> None:
        """What it saved for itself can only be held."""
        for value in list(self.made()):
            if value.slot[0] == "pack":
                value.give_up(why)

    def cast_to(self, value: Value, dtype: torch.dtype, reshapes: bool) -> Op | None:
        """What cast an argument to a tensor that the function saved: see NOTE [ Casts ] 2.

        A function that reshapes its arguments may save a copy of the cast, unless that is contiguous.
        """
        size = value.nbytes // dtype.itemsize
        known = tuple([leaf for leaf in self.leaves if leaf[0].numel() == size])
        refs = [ref for ref in self.inputs if ref.form.size == size]
        if len(known) + len(refs) != 1:
            return None
        given: Any = known[0][0] if known else refs[0]
        before = given.dtype if known else given.form.dtype
        if before == dtype or not before.is_floating_point or not dtype.is_floating_point:
            return None
        if reshapes and not (given.is_contiguous() if known else given.form.contiguous):
            return None
        cast = Op(torch.Tensor.to, self.number, self.segment)
        cast.leaves, cast.inputs, cast.args, cast.cast = known, refs, [given, dtype], given
        cast.order = 2 * self.number
        return cast


def _contiguous(shape: torch.Size, stride: tuple[int, ...]) -> bool:
    size = 1
    for length, step in zip(reversed(shape), reversed(stride), strict=True):
        if length != 1 and step != size:
            return False
        size *= length
    return True


def lazy(tensor: torch.Tensor) -> int:
    """Whether a tensor is read as the conjugate (1) or the negative (2) of what lies in its memory."""
    return tensor.is_conj() | tensor.is_neg() << 1


def _toggled(tensor: torch.Tensor, how: int) -> torch.Tensor:
    tensor = torch._conj(tensor) if how & 1 else tensor
    return torch._neg_view(tensor) if how & 2 else tensor


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as it lies in its memory."""
    return _toggled(tensor, lazy(tensor)) if tensor.is_neg() or tensor.is_conj() else tensor


def view(data: torch.Tensor, form: Form) -> torch.Tensor:
    """The bare memory of a tensor in another form."""
    stride, offset = form.stride, form.offset
    if stride is None:
        return data
    if data.dtype != form.dtype:
        shape = form.shape
        found = torch.empty(0, dtype=form.dtype, device=data.device).set_(data.untyped_storage(), offset, shape, stride)
    elif data.stride() == stride and data.shape == form.shape and data.storage_offset() == offset:
        found = data
    else:
        found = data.as_strided(form.shape, stride, offset)
    return _toggled(found, form.lazy) if form.lazy else found


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """The same in memory of its own: all that the tensor's memory holds."""
    storage = tensor.untyped_storage().clone()  # type: ignore[no-untyped-call]
    copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return copy.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
