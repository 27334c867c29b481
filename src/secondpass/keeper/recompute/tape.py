# SPDX-License-Identifier: BSD-3-Clause
"""What a forward computes, written down operation by operation while it runs.

NOTE [ The tape ]
1. The forward runs under a `TorchFunctionMode`. Each call of a function of PyTorch is an `Op`: the function, its plain
   arguments, and from which memory its tensors came. Nothing that is computed is held by writing it down.
2. Memory is told apart by storage. A `Value` is one state of one storage: a write makes another value. Views need no
   operation of their own: an argument is a value, with shape, strides and offset.
3. Storages are known by address. As long as the tape is open it holds a weak reference to each, so that no address is
   used twice.
4. What a node saves is packed while its operation runs, and becomes a token that names a value. A value whose operation
   may be run again (see NOTE [ What may be run again ]) need not be held: it is computed again from values that are.
5. What the tape did not see is held: results of other libraries' kernels, of compiled regions, of custom Functions, of
   `torch.func` and of forward-mode derivatives, which memory alone does not tell. It is told by an unknown storage, by a
   version that has moved, or by a history that appeared from nowhere.
6. No code of the user's ever runs again, so nothing that it does besides computing can happen twice; and no state
   around it matters, for all that it decided is written down.
7. An operation that reads memory from outside of the forward, which anybody may write to, is run again only if its node
   has saved that memory, so that PyTorch itself would refuse a pass after a write; or if that memory is a parameter
   and the result has a history. Averages of parameters, and what teachers compute, are held.
8. A forward that does what an earlier one did follows its plan: what is not wanted again is not even written down.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch.autograd import forward_ad
from torch.nn import Parameter, functional
from torch.overrides import TorchFunctionMode

from ..saved.graph import storage_of
from ..saved.store import Store
from ..unseen import dispatched, unseen
from .compiled import step_out
from .functions import EXPOSING, PASSIVE, Traits, draws_random_numbers, traits
from .op import GIVEN, MADE, OUTS, PACKS, PARAMETER, SOURCE, Form, Op, Ref, Saved, Slot, Value, copied, form_of
from .rng import Draw
from .state import Autocast, attention_backends, autocast_now, top_hooks

__all__ = ["UNSEEN", "Listener", "Script", "Step", "Tape"]

_LOOK = 7  # of operations that are not written down only each eighth is compared by the shape of its result
UNSEEN = "unseen"
"""In place of the shape of such a result."""
_PLAIN = frozenset(
    [
        int, float, bool, str, complex, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout,
        torch.memory_format, torch.Size,
    ]
)  # fmt: skip
_NUMBERS = {int, type(None)}
_push: Callable[..., None] = torch._C._autograd._push_saved_tensors_default_hooks
_pop: Callable[[], None] = torch._C._autograd._pop_saved_tensors_default_hooks
_interpreter: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack
_modes: Callable[[], int] = torch._C._len_torch_function_stack
_functions_unseen: Callable[[], contextlib.AbstractContextManager[Any]] = torch._C.DisableTorchFunction
_seen: Callable[[], contextlib.AbstractContextManager[Any]] = torch._C._EnableTorchFunction
_casts: Callable[[str], bool] = torch.is_autocast_enabled
_casts_to: Callable[[str], torch.dtype] = torch.get_autocast_dtype
_under_autocast: Callable[[], bool] = torch._C._is_any_autocast_enabled


class Step:
    """What an earlier forward found out about one operation, and what was decided."""

    __slots__ = (
        "forms", "func", "grad", "hold", "known", "packs", "saved", "segment", "shape", "solid", "trusted",
    )  # fmt: skip

    def __init__(self, func: Any, shape: Any, segment: int) -> None:
        self.func, self.shape, self.segment = func, shape, segment
        self.known = traits(func)
        self.packs: tuple[str, ...] = ()
        """What becomes of each tensor that its nodes save."""
        self.hold = False
        """Its result is held although no node saved it: others are computed from it."""
        self.grad = False
        """See `Op.grad`."""
        self.trusted: frozenset[Slot] = frozenset()
        """Those of its results that were computed again once, and were the same."""
        self.solid: frozenset[Slot] = frozenset()
        """Those that were not: they are held."""
        self.forms: list[Form] = []
        """What its arguments looked like the last time,"""
        self.saved: list[Form] = []
        """and what its nodes saved: most likely they do so again."""


class Script(NamedTuple):
    """The steps of a plan, and which of them are written down."""

    steps: Sequence[Step]
    record: Sequence[bool]
    passing: Sequence[Any]
    """The functions of those that are not."""


class Listener(Protocol):
    """Who wants to know how a forward goes on."""

    def unpack(self, token: Saved) -> torch.Tensor: ...

    def unseen(self, tensor: torch.Tensor) -> bool: ...

    def other_script(self, log: list[Any], func: Any) -> Script | None: ...

    def grown(self) -> None: ...

    def segment_over(self) -> None: ...


class Tape(TorchFunctionMode):
    """Writes one forward down: see NOTE [ The tape ]."""

    steps_aside = True
    """See `compiled`."""

    def __init__(self, store: Store, listener: Listener, script: Script | None) -> None:
        super().__init__()
        self._store, self._listener, self._forms = store, listener, store.forms
        self._script: Script | None = None
        self._passing: Sequence[Any] = ()
        """Of a plan: the functions that are not written down, None for those that are."""
        self._take(script)
        self._hooks = (self._packed_as, listener.unpack)  # until `close`: they lead back here
        self._hooks_unseen = (self._pack, listener.unpack)
        """The same where modes of others are at work."""
        self._values: dict[int, Value] = {}
        self._weak: list[Any] = []
        self._op: Op | None = None
        self._step: Step | None = None
        self._known: list[Form] = []
        """See `Step.forms`."""
        self._packed: set[int] = set()
        """What the present operation's nodes have saved of memory from outside."""
        self._autocast: Autocast = ()
        self.log: list[tuple[Any, Any]] = []
        """Of a forward without a plan: each operation's function, and the shape of its result."""
        self.ops: list[Op] = []
        """Of a forward without a plan: all operations."""
        self.number = 0
        """How many operations there were."""
        self.segment = 0
        self._beneath = False
        """Somebody else's function mode is at work below: it shall see the functions that are called, and nothing else."""
        self._dispatched = 0
        """So many dispatch modes are."""
        self.resting = False
        """A pass runs, or the forward is over: what is computed is not part of it."""

    @property
    def planned(self) -> bool:
        """So far this forward has done what the plan was made for."""
        return self._script is not None

    def __exit__(self, *_: object) -> None:
        step_out(self)

    # Calls of functions --------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PASSIVE or self.resting or _interpreter() is not None:
            if func in EXPOSING and isinstance(args[0], torch.Tensor):
                with unseen():
                    self._expose(args[0])
            return func(*args, **kwargs) if kwargs else func(*args)
        if forward_ad._current_level >= 0:
            out = func(*args, **kwargs) if kwargs else func(*args)
            with unseen():
                for tensor in out if isinstance(out, (tuple, list)) else (out,):
                    if isinstance(tensor, torch.Tensor):
                        self._listener.unseen(tensor)
            return out
        if _modes():
            self._beneath = True
            with _functions_unseen():
                return self._follow(func, args, kwargs)
        number = self.number
        if number & _LOOK and number < len(self._passing) and self._passing[number] is func:
            self.number = number + 1  # the plan has no more to do with it than to count
            return func(*args, **kwargs) if kwargs else func(*args)
        self._beneath = False
        return self._follow(func, args, kwargs)

    def _take(self, script: Script | None) -> None:
        self._script, self._passing = script, () if script is None else script.passing

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self._beneath:
            with _seen():
                return func(*args, **(kwargs or {}))
        return func(*args, **kwargs) if kwargs else func(*args)

    def _follow(self, func: Any, args: Any, kwargs: Any) -> Any:
        number, step = self.number, None
        self.number = number + 1
        script = self._script
        if script is not None:
            step = script.steps[number] if number < len(script.steps) else None
            if step is None or step.func is not func:
                step = self._deviate(number, func)
            elif not script.record[number]:
                out = self._call(func, args, kwargs)
                if type(out) is torch.Tensor and out.shape != step.shape:
                    self._deviate(number + 1, None)
                return out
        return self._record(Op(func, number, self.segment if step is None else step.segment), step, args, kwargs)

    def _record(self, op: Op, step: Step | None, args: Any, kwargs: Any) -> Any:
        if op.segment != self.segment:
            self._listener.segment_over()
            self.segment = op.segment
        known = traits(op.func) if step is None else step.known
        given: list[tuple[torch.Tensor, Value]] = []
        self._known = [] if step is None else step.forms
        self._take_arguments(op, known, args, kwargs, given)
        if op.why is None:
            if _under_autocast():
                op.autocast = self._casting()
            if known.draws:
                self._take_state(op, known, args, kwargs or {}, given)
        # Where somebody else's hooks are at work, what is saved is theirs.
        self._dispatched = dispatched()
        ours = (step is None or bool(step.packs)) and top_hooks(False) is None
        before, self._op, self._step = self._op, op, step
        timer = _Timer(self._store.on_gpu) if step is None else None
        if ours:
            pack, unpack = self._hooks_unseen if self._beneath or self._dispatched else self._hooks
            _push(pack, unpack)
        try:
            if self._beneath:
                out = self._call(op.func, args, kwargs)
            else:
                out = op.func(*args, **kwargs) if kwargs else op.func(*args)
        except BaseException:
            self._store.done(op)
            raise
        finally:
            if ours:
                _pop()
            self._op = before
        if timer is not None:
            op.seconds = timer.seconds()
        if self._dispatched:
            with unseen():
                self._finish(op, known, given, out)
        else:
            self._finish(op, known, given, out)
        if step is None:
            self.log.append((op.func, _shape(out)))
            self.ops.append(op)
            self._listener.grown()
        elif step.shape != (out.shape if type(out) is torch.Tensor else _shape(out)):
            self._deviate(op.number + 1, None)
        return out

    def _deviate(self, number: int, func: Any) -> Step | None:
        """This forward does something else than the plan was made for. Perhaps another plan knows it."""
        script = self._script
        assert script is not None
        done = [
            (step.func, step.shape if wanted or not place & _LOOK else UNSEEN)
            for place, (step, wanted) in enumerate(zip(script.steps[:number], script.record, strict=False))
        ]
        self._take(self._listener.other_script(done, func))
        if self._script is None:
            self.log = done
            return None
        return self._script.steps[number] if func is not None else None

    def _take_arguments(
        self, op: Op, known: Traits, args: Any, kwargs: Any, given: list[tuple[torch.Tensor, Value]]
    ) -> None:
        if known.statistics:
            args, kwargs = self._without_statistics(op, args, kwargs or {})
        taken = op.args
        for value in args:
            kind = type(value)
            if kind is torch.Tensor:
                taken.append(self._tensor(op, value, given))
            elif kind in _PLAIN:
                taken.append(value)
            else:
                taken.append(self._argument(op, value, given))
        if kwargs:
            op.kwargs = {name: self._argument(op, value, given) for name, value in kwargs.items()}

    def _tensor(self, op: Op, tensor: torch.Tensor, given: list[tuple[torch.Tensor, Value]]) -> Ref | None:
        refs, known, learns = op.inputs, self._known, tensor.requires_grad
        if given:
            for place, (other, _) in enumerate(given):
                if other is tensor:  # functions ask whether two arguments are one
                    return refs[place]
        try:
            found = self._values.get(tensor.untyped_storage()._cdata)
            if found is None or found.version != tensor._version or (learns and not found.requires_grad):
                found = self.value_of(tensor)
        except (RuntimeError, NotImplementedError):
            found = self.value_of(tensor)
        given.append((tensor, found))
        place = len(refs)
        form = known[place] if place < len(known) else None
        try:
            if (
                form is None
                or form.shape != tensor.shape
                or form.stride != tensor.stride()
                or form.offset != tensor.storage_offset()
                or form.dtype is not tensor.dtype
                or form.lazy != tensor.is_conj() | tensor.is_neg() << 1
            ):
                form = form_of(tensor, self._forms)
                if form.stride is None:
                    raise RuntimeError
                known[place:] = [form]
        except RuntimeError:
            op.why = "it was given a tensor without strides"
            return None
        ref = Ref(found, form, learns)
        refs.append(ref)
        return ref

    def _argument(self, op: Op, value: Any, given: list[tuple[torch.Tensor, Value]]) -> Any:
        kind = type(value)
        if kind is torch.Tensor:
            return self._tensor(op, value, given)
        if kind is Parameter:
            op.leaves += ((value, value._version, value.requires_grad),)
            return value
        if kind in _PLAIN:
            return value
        if kind is list or kind is tuple:
            return kind([self._argument(op, item, given) for item in value])
        if kind is slice and {type(value.start), type(value.stop), type(value.step)} <= _NUMBERS:
            return value
        op.why = f"it was given a {kind.__name__}"
        return None

    def _without_statistics(self, op: Op, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """A norm over the batch writes to its running statistics: run again, it shall not."""
        if op.func is functional.batch_norm:
            training = kwargs.get("training", args[5] if len(args) > 5 else False)
        elif op.func is functional.instance_norm:
            training = kwargs.get("use_input_stats", args[5] if len(args) > 5 else True)
        else:
            op.why = "it may write to its running statistics"
            return args, kwargs
        if not training:
            return args, kwargs
        for value in (*args[1:3], kwargs.get("running_mean"), kwargs.get("running_var")):
            if isinstance(value, torch.Tensor):
                self.value_of(value)
        return (
            (*args[:1], *(None for _ in args[1:3]), *args[3:]),
            {name: None if name in ("running_mean", "running_var") else value for name, value in kwargs.items()},
        )

    @staticmethod
    def _take_state(op: Op, known: Traits, args: Any, kwargs: Any, given: list[tuple[torch.Tensor, Value]]) -> None:
        """What attention and recurrent layers depend on besides."""
        if known.attention:
            op.backends = attention_backends()
        if given and draws_random_numbers(op.func, args, kwargs):
            op.draw = Draw(given[0][0].device)

    def _casting(self) -> Autocast:
        """How autocast stands. One object for all operations alike, so that a replay sees at a glance that it stays."""
        for kind, enabled, dtype in self._autocast:
            if _casts(kind) is not enabled or _casts_to(kind) is not dtype:
                break
        else:
            if self._autocast:
                return self._autocast
        self._autocast = autocast_now()
        return self._autocast

    # Values --------------------------------------------------------------------------------------------------------

    def value_of(self, tensor: torch.Tensor) -> Value:
        """The value that a tensor lies in. See NOTE [ The tape ] 5."""
        try:
            storage, version = tensor.untyped_storage(), tensor._version
        except (RuntimeError, NotImplementedError):
            return self._opaque()
        key = storage._cdata
        found = self._values.get(key)
        if found is not None and found.version == version and (found.requires_grad or not tensor.requires_grad):
            return found
        found = self._new(key, storage, version)
        base = tensor._base if tensor._is_view() else tensor
        found.kind, found.requires_grad = GIVEN, True
        if _learns(base):
            found.kind, found.leaf = PARAMETER, id(base)
        else:
            self._listener.unseen(tensor)
        return found

    def _opaque(self) -> Value:
        """It has no storage of its own (sparse, wrapped), or no version (of inference mode): it is held as it is."""
        found = Value(self._store, 0, 0, 0, self.segment)
        found.kind, found.requires_grad = GIVEN, True
        return found

    def _new(self, key: int, storage: torch.UntypedStorage, version: int) -> Value:
        found = Value(self._store, key, version, storage.nbytes(), self.segment)
        if key not in self._values:
            self._weak.append(storage._weak_ref())
        self._values[key] = found
        return found

    def _pack(self, tensor: torch.Tensor) -> Saved:
        """A node saves a tensor, and somebody's mode shall not see what becomes of it."""
        with unseen():
            return self._packed_as(tensor)

    def _packed_as(self, tensor: torch.Tensor) -> Saved:
        op, step = self._op, self._step
        assert op is not None
        number, kind = op.packs, type(tensor)
        op.packs = number + 1
        try:
            plain = kind is torch.Tensor or kind is Parameter
            key = tensor.untyped_storage()._cdata if plain else storage_of(tensor)[0]
        except (RuntimeError, NotImplementedError):
            key = 0
        value = self._values.get(key)
        if key == 0:
            value = self._opaque()
        elif value is None or value.version != tensor._version:
            value = self._saved_first(op, number, key, tensor)
        if value.kind is GIVEN:
            self._packed.add(id(value))
        if step is None:
            return self._store.save(value, tensor, op, number, None, form_of(tensor, self._forms))
        form = step.saved[number] if number < len(step.saved) else None
        if (
            form is None
            or tensor.layout is not torch.strided
            or form.shape != tensor.shape
            or form.stride != tensor.stride()
            or form.offset != tensor.storage_offset()
            or form.dtype is not tensor.dtype
            or form.lazy != tensor.is_conj() | tensor.is_neg() << 1
        ):
            form = form_of(tensor, self._forms)
            step.saved[number:] = [form]
        action = step.packs[number] if number < len(step.packs) else None
        return self._store.save(value, tensor, op, number, action, form)

    def _saved_first(self, op: Op, number: int, key: int, tensor: torch.Tensor) -> Value:
        """A node saves what nobody has returned so far."""
        if _learns(tensor._base if tensor._is_view() else tensor):
            return self.value_of(tensor)
        value = self._new(key, tensor.untyped_storage(), tensor._version)
        slot = PACKS[number] if number < len(PACKS) else ("pack", number)
        value.op, value.slot, value.requires_grad = op, slot, tensor.requires_grad
        op.results += (weakref.ref(value),)
        return value

    def _expose(self, tensor: torch.Tensor) -> None:
        """Others get to know where it lies. What they will write there is what its readers shall read.

        What was computed from it before is computed again from what lies there now. What lies there from here on is
        something else, that keep did not see being made: when they write, nobody knows.
        """
        key, _ = storage_of(tensor)
        value = self._values.get(key)
        if value is None or value.exposed or value.version != tensor._version or value.kind in (GIVEN, PARAMETER):
            return
        value.exposed, value.written, value.fresh = True, True, False
        value.why = "its memory was handed out"
        if value.tokens and value.data is None:
            self._store.hold(value, tensor.detach())
        if self._script is not None or value.op is None:
            value.original = copied(tensor)
        del self._values[key]

    # After a call --------------------------------------------------------------------------------------------------

    def _finish(self, op: Op, known: Traits, given: list[tuple[torch.Tensor, Value]], out: Any) -> None:
        """The function has returned: what has it made, and can it be run again?"""
        if op.draw is not None:
            op.draw.done()
        grad = False
        number = 0
        for tensor, value in given:
            if value.key and tensor._version != value.version:
                grad |= tensor.requires_grad
                self._written(op, number, tensor, value)
            number += 1
        if type(out) is torch.Tensor:
            grad |= out.requires_grad
            self._returned(op, 0, out)
        elif isinstance(out, (tuple, list)):
            for number, tensor in enumerate(out):
                if isinstance(tensor, torch.Tensor):
                    grad |= tensor.requires_grad
                    self._returned(op, number, tensor)
        if known.foreign:
            for _, value in given:  # it may have written there, without a version that tells so
                self._values.pop(value.key, None)
        step = self._step
        if op.results:
            why = op.why or self._objection(op, known, grad)
            if why is not None:
                op.give_up(why)
            else:
                if step is not None:
                    op.grad = step.grad
                    trusted, solid = step.trusted, step.solid
                    if trusted or solid:
                        for known_result in op.results:
                            result = known_result()
                            if result is not None:
                                result.trusted = result.slot in trusted
                                if solid and result.slot in solid:
                                    result.give_up(f"`{op.name}` did not give the same result again")
                if op.autocast is not None and known.saves_arguments and op.packs and op.noise is None:
                    self._find_casts(op, known)
                if known.statistics:
                    op.give_up_inside("it is run again without its running statistics")
                for tensor, value in given:
                    if value.kind is not MADE and value.data is None:
                        self._store.hold_source(value, tensor)
        if op.packs:
            if self._packed:
                self._packed.clear()
            self._store.done(op)
        if step is not None and step.hold:
            self._store.hold_results(op, out)

    def _written(self, op: Op, number: int, tensor: torch.Tensor, old: Value) -> None:
        new = self._values.get(old.key)
        if new is None or new.version != tensor._version:
            new = self._new(old.key, tensor.untyped_storage(), tensor._version)
            op.results += (weakref.ref(new),)
        new.op, new.slot, new.requires_grad = op, ("arg", number), tensor.requires_grad
        old.written = op.writes = True
        if old.kind is not MADE:
            op.why = "it writes to memory that cannot be made again"
            new.outside = old.kind is not SOURCE or old.outside

    def _returned(self, op: Op, number: int, tensor: torch.Tensor) -> None:
        try:
            storage, version = tensor.untyped_storage(), tensor._version
        except (RuntimeError, NotImplementedError):
            op.why = "it returns a tensor without memory or version of its own"
            return
        key = storage._cdata
        value = self._values.get(key)
        if value is not None and value.version == version:
            if value.op is op and value.slot[0] == "pack":
                value.slot = OUTS[number] if number < len(OUTS) else ("out", number)
                value.requires_grad |= tensor.requires_grad
            return
        value = self._new(key, storage, version)
        slot = OUTS[number] if number < len(OUTS) else ("out", number)
        value.op, value.slot, value.requires_grad = op, slot, tensor.requires_grad
        op.results += (weakref.ref(value),)

    def _objection(self, op: Op, known: Traits, grad: bool) -> str | None:
        """See NOTE [ What may be run again ] and NOTE [ The tape ] 7."""
        if not known.repeatable[self._store.on_gpu]:
            return f"`{op.name}` is not known to give the same result again"
        if not op.inputs and not op.leaves:
            return "it is made from nothing"
        for leaf, version, _ in op.leaves:
            if not grad:
                return "it is computed from memory that anybody may write to"
            if leaf._version != version:
                return "it writes to a parameter"
        for ref in op.inputs:
            kind = ref.value.kind
            if (kind is GIVEN and (not grad or id(ref.value) not in self._packed)) or (kind is PARAMETER and not grad):
                return "it is computed from memory that anybody may write to"
        return self._find_noise(op) if known.dropout else None

    @staticmethod
    def _find_noise(op: Op) -> str | None:
        """Run again, a dropout would draw other numbers: it is computed from the noise that its node has saved."""
        found = [value for value in op.made() if value.slot[0] == "pack"]
        if len(found) != 1 or op.writes or op.packs != 1 or found[0].data is None:
            return "its noise is not known"
        (value,), data = found, found[0].data
        value.op, value.kind, value.why = None, SOURCE, "noise"
        op.noise = Ref(value, Form(data.dtype, data.shape, data.stride(), data.storage_offset(), 0), False)
        op.results = tuple(result for result in op.results if result() is not value)
        return None

    @staticmethod
    def _find_casts(op: Op, known: Traits) -> None:
        """What a function has cast for itself under autocast need not be computed by all of the function."""
        for value in list(op.made()):
            if value.slot[0] == "pack" and value.tokens:
                cast = op.cast_to(value, value.dtype, known.reshapes)
                if cast is not None:
                    cast.origin = value.slot
                    value.op, value.slot = cast, ("out", 0)
                    cast.results += (weakref.ref(value),)
                    op.casts += (cast,)
                    op.results = tuple(result for result in op.results if result() is not value)

    def close(self) -> None:
        """The forward is over. Addresses mean nothing from here on, even if another thread's stack still has this mode."""
        self.resting = True
        self._values.clear()
        for weak in self._weak:
            torch.UntypedStorage._free_weak_ref(weak)  # type: ignore[no-untyped-call]
        self._weak.clear()
        self.ops.clear()
        del self._hooks, self._hooks_unseen


def _learns(base: Any) -> bool:
    """A parameter, or what is used as one."""
    return type(base) is Parameter or (base is not None and base.requires_grad and base.is_leaf)


_event: Callable[..., torch.cuda.Event] = torch.cuda.Event


class _Timer:
    def __init__(self, on_gpu: bool) -> None:
        self._start: float | torch.cuda.Event = time.perf_counter()
        if on_gpu:
            self._start = _event(enable_timing=True)
            self._start.record()

    def seconds(self) -> Any:
        if isinstance(self._start, float):
            return time.perf_counter() - self._start
        end = _event(enable_timing=True)
        end.record()
        return self._start, end


def _shape(out: Any) -> Any:
    if isinstance(out, torch.Tensor):
        return out.shape
    if isinstance(out, (tuple, list)) and out and isinstance(out[0], torch.Tensor):
        return out[0].shape
    return None
