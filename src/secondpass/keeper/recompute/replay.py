# SPDX-License-Identifier: BSD-3-Clause
"""Computing values again, from others that are held.

NOTE [ Running an operation again ]
1. It gets its arguments from values that are held, or that operations before it have just computed. Nothing else is
   run: an operation whose result nobody asks for is left out, be it a matrix product.
2. No graph is built, except where an operation is asked for what its nodes saved (the weights of an attention), or where
   it came out differently without: then its own graph is built and thrown away.
3. Parameters and held memory are checked against their versions first. What has changed raises PyTorch's error.
4. What an operation writes to is a copy.
5. Autocast, PyTorch's settings and random numbers are as they were in the forward, and afterwards as they are.
6. Where no graph is built, autograd is not even asked: a view takes a quarter of the time then. It would not count what
   is written to memory, so an operation that writes is run in the usual way.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.nn import Parameter
from torch.utils._python_dispatch import _disable_current_modes

from ..errors import KeepError, RepeatError, changed
from ..saved.graph import emptied
from .op import GIVEN, OUTS, PARAMETER, Holder, Op, Ref, Value, bare, copied, view
from .rng import Draw
from .state import Autocast, attention_backends, autocast_now, under_autocast, under_backends

__all__ = ["closure", "compute"]

_push: Callable[..., None] = torch._C._autograd._push_saved_tensors_default_hooks
_pop: Callable[[], None] = torch._C._autograd._pop_saved_tensors_default_hooks
_ExcludeKeys: Any = torch._C._ExcludeDispatchKeyGuard
_BATCHED = torch._C.DispatchKeySet(torch._C._parse_dispatch_key("VmapMode"))  # type: ignore[arg-type]
_below_autograd: Callable[[], Any] = getattr(torch._C, "_AutoDispatchBelowADInplaceOrView", contextlib.nullcontext)
_NO_CASTS: dict[int, torch.Tensor] = {}
Made = dict[tuple[str, int], torch.Tensor]


def _present(value: Value) -> bool:
    data = value.data
    if data is not None and data._version == value.at and not value.exposed:  # it is here
        return True
    return value.bits is not None or value.host is not None or value.original is not None


def closure(targets: list[Value], present: Callable[[Value], bool] = _present) -> list[Op] | None:
    """The operations that compute some values from what is present, in order. None where that cannot be done."""
    ops: set[Op] = set()
    todo = list(targets)
    while todo:
        value = todo.pop()
        op = value.op
        if op is None:
            return None
        if op in ops:
            continue
        ops.add(op)
        todo += [needed for needed in op.needs() if not present(needed)]
    return sorted(ops, key=operator.attrgetter("order"))


def compute(store: Holder, target: Value, keep: Callable[[Value], bool]) -> torch.Tensor:
    """Computes one value. What comes by on the way and is to be kept is held from then on."""
    ops = closure([target])
    if ops is None:
        raise KeepError(_lost(target))
    needs = [op.needs() for op in ops]
    last = {needed: place for place, values in enumerate(needs) for needed in values}
    last[target] = len(ops)
    made: dict[Value, torch.Tensor] = {}
    with _Surroundings(store) as around:
        for place, op in enumerate(ops):
            wanted, inside = [], False
            for known in op.results:
                value = known()
                if value is None or (value is not target and _present(value)):
                    continue
                waits = value is not target and keep(value)
                if waits or last.get(value, -1) > place:  # for nothing else a graph is built
                    wanted.append((value, waits))
                    inside |= value.slot[0] == "pack"
            cast = _casts(around, op, made, target, keep) if op.casts else _NO_CASTS
            found = _run(around, op, made, last, place, inside, cast)
            for value, waits in wanted:
                tensor = found[value.slot]
                if tensor.untyped_storage().nbytes() != value.nbytes:
                    raise _other_size(op, value, tensor)
                if last.get(value, -1) > place:
                    made[value] = tensor
                if waits:
                    store.refill(value, tensor)
            for needed in needs[place]:
                if last[needed] == place:
                    made.pop(needed, None)
    store.ran(ops)
    return made[target]


def _casts(
    around: _Surroundings, op: Op, made: dict[Value, torch.Tensor], target: Value, keep: Callable[[Value], bool]
) -> dict[int, torch.Tensor]:
    """What was cast for an operation, by the id of the argument, if it is here or wanted: see NOTE [ Casts ] 3."""
    found: dict[int, torch.Tensor] = {}
    for cast in op.casts:
        for known in cast.results:
            value = known()
            if value is None:
                continue
            tensor = made.get(value)
            if tensor is None and value.here:
                tensor = _as_given(value.data, cast.cast)
            elif tensor is None and value is not target and not _present(value) and keep(value):
                tensor = _run(around, cast, made, {}, 0, False, _NO_CASTS)[value.slot]
                if tensor.untyped_storage().nbytes() != value.nbytes:
                    raise _other_size(cast, value, tensor)
                around.store.refill(value, tensor)
                around.store.ran([cast])
            if tensor is not None and value.op is cast:
                found[id(cast.cast)] = tensor
    return found


def _as_given(data: torch.Tensor | None, given: Any) -> torch.Tensor | None:
    """What is held of a cast, if that has the form of the argument: nodes may have saved it transposed."""
    assert data is not None
    if type(given) is Ref:
        shape, stride = given.form.shape, given.form.stride
    else:
        shape, stride = given.shape, given.stride()
    return data if data.shape == shape and data.stride() == stride and not data.storage_offset() else None


def _lost(target: Value) -> str:
    todo = [target]
    while todo:
        value = todo.pop()
        if value.op is None:
            if value.kind in (GIVEN, PARAMETER):
                raise changed("a tensor that the forward was given", value.at, _version(value))
            return "a saved tensor cannot be computed again: memory that it depends on was written to since."
        todo += [needed for needed in value.op.needs() if not _present(needed)]
    return "a saved tensor cannot be computed again."


def _version(value: Value) -> int | None:
    return None if value.data is None else value.data._version


class _Surroundings:
    """Within, everything around an operation is as it was in the forward: see NOTE [ Running an operation again ] 5.

    A class, and without context managers of Python's: a pass may come here for every few operations.
    """

    __slots__ = ("_autocast", "_below", "_cached", "_grad", "_guards", "_undo", "casting", "lowered", "store")

    def __init__(self, store: Holder) -> None:
        self.store = store
        self._autocast: Autocast | None = None
        self.casting: Autocast | None = None
        self._below, self.lowered = _below_autograd(), False

    def low(self, wanted: bool) -> None:
        """From here on autograd is not asked, or it is again: see NOTE [ Running an operation again ] 6."""
        if wanted is not self.lowered:
            self.lowered = wanted
            if wanted:
                self._below.__enter__()
            else:
                self._below.__exit__(None, None, None)
                if self._autocast is not None:  # PyTorch has put it back to what it was when this was entered
                    under_autocast(self._autocast if self.casting is None else self.casting)

    def cast(self, state: Autocast | None) -> None:
        """From here on autocast does what it did then; with None, nothing. Most operations are as the one before."""
        if state is self.casting:
            return
        if self._autocast is None:
            self._autocast, self._cached = autocast_now(), torch.is_autocast_cache_enabled()
            torch.set_autocast_cache_enabled(False)  # nobody would empty it
        under_autocast(self._autocast if state is None else state)
        self.casting = state

    def __enter__(self) -> _Surroundings:
        self._guards = [torch._C.DisableTorchFunction(), _outside_of_transforms(), _ExcludeKeys(_BATCHED)]
        if torch._C._len_torch_dispatch_stack():
            # A pass may run inside of somebody's mode, which counts or changes what is computed: not this.
            self._guards.append(_disable_current_modes())
        self._undo = self.store.settings.put_back()
        for guard in self._guards:
            guard.__enter__()
        self._grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        return self

    def __exit__(self, *_: object) -> None:
        self.low(False)
        if self._autocast is not None:
            under_autocast(self._autocast)
            torch.set_autocast_cache_enabled(self._cached)
        torch._C._set_grad_enabled(self._grad)
        for guard in reversed(self._guards):
            guard.__exit__(None, None, None)
        if self._undo is not None:
            self._undo()


def _outside_of_transforms() -> Any:
    """A pass may run inside of `vmap`: what is computed again does not."""
    if torch._C._functorch.peek_interpreter_stack() is None:
        return torch._C._DisableFuncTorch()
    return temporarily_clear_interpreter_stack()


def _other_size(op: Op, value: Value, tensor: torch.Tensor) -> RepeatError:
    found = tensor.untyped_storage().nbytes()
    return RepeatError(f"`{op.name}` made {value.nbytes} bytes in the forward, and {found} when it was run again.")


def _run_plain(around: _Surroundings, op: Op, made: dict[Value, torch.Tensor], cast: dict[int, torch.Tensor]) -> Made:
    """Most operations: no graph is built, nothing is drawn or written to."""
    if op.leaves or around.store.stepped:
        _check_leaves(op, around.store)
    if not around.lowered:
        around.low(True)
    if op.autocast is not around.casting:
        around.cast(op.autocast)
    views = cast.copy() if cast else {}
    args = []
    for value in op.args:
        if type(value) is Ref:
            found = views.get(id(value))
            if found is None:
                base = made.get(value.value)
                found = view(_memory(value.value) if base is None else base, value.form)
                views[id(value)] = found
            args.append(found)
        else:
            args.append(_given(value, made, views))
    if op.kwargs:
        out = op.func(*args, **{name: _given(value, made, views) for name, value in op.kwargs.items()})
    else:
        out = op.func(*args)
    if type(out) is torch.Tensor and not (out.requires_grad or out.is_neg() or out.is_conj()):
        return {OUTS[0]: out}
    return _outputs(out)


def _cast_again(around: _Surroundings, op: Op, made: dict[Value, torch.Tensor]) -> Made:
    """Autocast does nothing to a cast."""
    if op.leaves or around.store.stepped:
        _check_leaves(op, around.store)
    around.low(True)
    given, dtype = op.args
    if type(given) is Ref:
        base = made.get(given.value)
        given = view(_memory(given.value) if base is None else base, given.form)
    return _outputs(given.to(dtype))


def _check_leaves(op: Op, store: Holder) -> None:
    for leaf, version, _ in op.leaves:
        if emptied(leaf):
            raise KeepError("a parameter that a saved tensor is computed from is not here.")
        if leaf._version != version or id(leaf) in store.stepped:
            raise changed("a parameter", version, leaf._version)
    if store.stepped:
        for ref in op.inputs:
            if ref.value.leaf in store.stepped:
                raise changed("a parameter", ref.value.at, _version(ref.value))


def _run(
    around: _Surroundings,
    op: Op,
    made: dict[Value, torch.Tensor],
    last: dict[Value, int],
    place: int,
    inside: bool,
    cast: dict[int, torch.Tensor],
) -> Made:
    if not inside and not op.grad:
        if op.plain:
            return _run_plain(around, op, made, cast)
        if op.cast is not None:
            return _cast_again(around, op, made)
    _check_leaves(op, around.store)
    around.low(not (inside or op.grad or op.writes))
    bases = _copies(op, made, last, place) if op.writes else _inputs(op, made)
    if op.noise is not None:
        bases[op.noise.value] = _memory(op.noise.value)
        return {OUTS[0]: _dropped(op, bases)}
    if op.cast is None:  # autocast does nothing to a cast, nor to a product with noise
        around.cast(op.autocast)
    if op.draw is not None:
        return _drawn(op, bases, inside)
    return _called(op, bases, inside, cast)


def _inputs(op: Op, made: dict[Value, torch.Tensor]) -> dict[Value, torch.Tensor]:
    """Where the arguments lie."""
    bases: dict[Value, torch.Tensor] = {}
    for ref in op.inputs:
        value = ref.value
        if value not in bases:
            base = made.get(value)
            bases[value] = _memory(value) if base is None else base
    return bases


def _copies(op: Op, made: dict[Value, torch.Tensor], last: dict[Value, int], place: int) -> dict[Value, torch.Tensor]:
    """The same for an operation that writes to some of them: those are copies, if anybody else needs them."""
    written = _written(op)
    bases: dict[Value, torch.Tensor] = {}
    for number, ref in enumerate(op.inputs):
        base = made.get(ref.value)
        private = base is not None and last.get(ref.value, -1) <= place
        base = _memory(ref.value) if base is None else base
        if number in written and not private and ref.value not in bases:
            base = copied(base)
        bases.setdefault(ref.value, base)
    return bases


def _written(op: Op) -> set[int]:
    """The arguments that an operation writes to: as far as anybody remembers, otherwise it may be any."""
    found = {number for value in op.made() for slot, number in [value.slot] if slot == "arg"}
    return found or set(range(len(op.inputs)))


def _drawn(op: Op, bases: dict[Value, torch.Tensor], inside: bool) -> Made:
    assert op.draw is not None
    for final in Draw.tries():
        try:
            with op.draw.again():
                return _called(op, bases, inside, {})
        except Draw.disturbed:
            if final:
                raise
    raise AssertionError


def _called(op: Op, bases: dict[Value, torch.Tensor], inside: bool, cast: dict[int, torch.Tensor]) -> Made:
    grad = inside or op.grad
    views = {} if grad else cast.copy()
    learned = {id(leaf): learns for leaf, _, learns in op.leaves} if grad else None
    if grad and op.writes:
        _past_leaves(op, bases, views)
    args = [_argument(value, bases, learned, views) for value in op.args]
    kwargs = {name: _argument(value, bases, learned, views) for name, value in op.kwargs.items()}
    packs: list[torch.Tensor] = []
    backends = None
    try:
        if op.backends is not None and (now := attention_backends()) != op.backends:
            backends = now
            under_backends(op.backends)
        if grad:
            _push(_collect(packs), _as_it_is)
            try:
                with torch.enable_grad():
                    out = op.func(*args, **kwargs)
            finally:
                _pop()
        else:
            out = op.func(*args, **kwargs)
    finally:
        if backends is not None:
            under_backends(backends)
    if inside and len(packs) != op.packs:
        raise RepeatError(
            f"`{op.name}` saved {op.packs} tensors in the forward, and {len(packs)} when it was run again."
        )
    found = _outputs(out)
    found.update({("pack", number): tensor for number, tensor in enumerate(packs)})
    if op.writes:
        found.update({("arg", number): bases[ref.value] for number, ref in enumerate(op.inputs)})
    return found


def _past_leaves(op: Op, bases: dict[Value, torch.Tensor], views: dict[int, torch.Tensor]) -> None:
    """PyTorch writes to no leaf that requires a gradient: what an operation writes to gets a history, and keeps its bits."""
    written = _written(op)
    for number, ref in enumerate(op.inputs):
        if ref.requires_grad and number in written:
            found = views[id(ref)] = view(bases[ref.value], ref.form).detach()
            with torch.enable_grad():
                found.copy_(found.detach().clone().requires_grad_())


def _outputs(out: Any) -> Made:
    if type(out) is torch.Tensor:
        return {OUTS[0]: bare(out.detach() if out.requires_grad else out)}
    outs = enumerate(out if isinstance(out, (tuple, list)) else (out,))
    return {("out", number): bare(tensor.detach()) for number, tensor in outs if isinstance(tensor, torch.Tensor)}


def _collect(packs: list[torch.Tensor]) -> Callable[[torch.Tensor], None]:
    def pack(tensor: torch.Tensor) -> None:
        packs.append(bare(tensor.detach()))

    return pack


def _as_it_is(_: object) -> torch.Tensor:
    raise KeepError("a graph that was built to be thrown away was walked.")


def _argument(
    value: Any, bases: dict[Value, torch.Tensor], learned: dict[int, bool] | None, views: dict[int, torch.Tensor]
) -> Any:
    """`learned` tells where a graph is built: which parameters learned at the time of the forward.

    What was one tensor in the forward is one tensor again: `views` holds those that were made already.
    """
    if type(value) is Ref:
        found = views.get(id(value))
        if found is None:
            found = view(bases[value.value], value.form)
            if learned is not None and value.requires_grad:
                found = found.detach().requires_grad_()
            views[id(value)] = found
        return found
    if type(value) is Parameter:
        found = views.get(id(value))
        if found is None and learned is not None and value.requires_grad != learned[id(value)]:
            found = views[id(value)] = value.detach().requires_grad_(learned[id(value)])
        return value if found is None else found
    if type(value) is list or type(value) is tuple:
        return type(value)([_argument(item, bases, learned, views) for item in value])
    return value


def _given(value: Any, made: dict[Value, torch.Tensor], views: dict[int, torch.Tensor]) -> Any:
    """As `_argument`, where no graph is built."""
    kind = type(value)
    if kind is Ref:
        found = views.get(id(value))
        if found is None:
            base = made.get(value.value)
            found = views[id(value)] = view(_memory(value.value) if base is None else base, value.form)
        return found
    if kind is list or kind is tuple:
        return kind([_given(item, made, views) for item in value])
    return views.get(id(value), value) if views and kind is Parameter else value


def _memory(value: Value) -> torch.Tensor:
    """Where a value lies that is present."""
    if value.here:
        assert value.data is not None
        return value.data
    if value.original is not None:
        return value.original
    if value.bits is not None:
        return value.bits.make()
    assert value.host is not None
    return value.host.read()


def _dropped(op: Op, bases: dict[Value, torch.Tensor]) -> torch.Tensor:
    """What a dropout made of its input, by the noise it multiplied by. On a GPU that is a mask."""
    given, noise = _argument(op.args[0], bases, None, {}), _argument(op.noise, bases, None, {})
    if noise.dtype != torch.bool:
        return given * noise  # type: ignore[no-any-return]
    rate = op.kwargs.get("p", op.args[1] if len(op.args) > 1 else 0.5)
    return torch.ops.aten.native_dropout_backward(given, noise, 1.0 / (1.0 - rate))  # type: ignore[no-any-return]
