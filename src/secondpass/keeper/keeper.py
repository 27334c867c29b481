# SPDX-License-Identifier: BSD-3-Clause
"""What belongs to one kept function across its calls: the budget, the units, the plans, and what was learned."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from typing import Any

import torch
from torch import nn

from .budget.plan import Plan, Plans
from .budget.settle import settle
from .budget.size import Share, parse_budget, readable
from .budget.units import Units, choose_units
from .call import Call
from .engine import attach
from .errors import KeepError
from .ledger import Ledger, Line, PassLine
from .place import caller, warn
from .recompute.compiled import paused, watching_compiled
from .recompute.state import top_hooks
from .recompute.tape import Tape
from .saved.graph import storage_of
from .saved.held import holding
from .saved.others import apart_from_nodes
from .saved.store import HOST, Store
from .tree import tensors
from .unseen import unseen

__all__ = ["POLICIES", "Keeper"]

POLICIES = ("auto", "retain", "recompute", "offload")
_LOOK = 16  # calls after which a model is looked at again: parts may have been replaced
_FAST_PATHS = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules that take another way under a function mode, where nothing is trained."""


_tracing: Callable[[], bool] = torch._C._is_tracing


class _Parts:
    """What a model is made of."""

    def __init__(self, module: nn.Module | None) -> None:
        modules = [] if module is None else list(module.modules())
        self.calls = 0
        self.parameters: list[torch.Tensor] = list(
            {id(v): v for part in modules for v in part._parameters.values() if v is not None}.values()
        )
        self.buffers = [value for part in modules for value in part._buffers.values() if value is not None]
        self.fast_paths = [part for part in modules if isinstance(part, _FAST_PATHS)]
        self._on_gpu = any(value.is_cuda for value in self.parameters)
        self._known = module is not None

    def on_gpu(self, inputs: list[torch.Tensor]) -> bool:
        return self._on_gpu or any(v.is_cuda for v in inputs) or (not self._known and torch.cuda.is_available())


class _Here(threading.local):
    calls: list[Call]

    def __init__(self) -> None:
        self.calls = []


class Keeper:
    """The state behind one kept function, or one kept block of code."""

    def __init__(self, module: nn.Module | None, budget: Any, units: Any, policy: str, passes: int | None) -> None:
        if policy not in POLICIES:
            raise ValueError(f"`policy` should be one of {', '.join(POLICIES)}. (got {policy!r})")
        if passes is not None and (isinstance(passes, bool) or not isinstance(passes, int) or passes < 1):
            raise ValueError(f"`passes` should be a number of passes, at least 1. (got {passes!r})")
        self.module, self.policy = module, policy
        self._asked: int | Share | None = None
        self.budget: int | None = None
        """In bytes. A share of what retain_graph=True holds is known after the first forward."""
        self.set_budget(budget)
        self.units: Units = choose_units(module, units)
        self.plans = Plans()
        self.calls: weakref.WeakSet[Call] = weakref.WeakSet()
        self.steps_between: bool | None = None
        """An optimizer steps between any two calls. None as long as nobody knows."""
        self.most = 0
        self._given = passes
        self._learned: deque[int] = deque(maxlen=3)
        self._here = _Here()
        self._lock = threading.Lock()
        self._routes = 0
        self._surprised = False
        self._lessened = False
        """It was said that a share could not be met."""
        self._known_parts: _Parts | None = None
        self._passes: deque[PassLine] = deque(maxlen=16)

    # The budget ------------------------------------------------------------------------------------------------------

    @property
    def native(self) -> bool:
        """Everything is held by PyTorch itself."""
        return self.policy == "retain" or (self.policy == "auto" and self._asked is None)

    def set_budget(self, budget: Any) -> None:
        """Takes effect with the next call, and at once in calls that are alive."""
        device = next((value.device for value in self.module.parameters()), None) if self.module is not None else None
        if budget is not None and self.policy in ("retain", "recompute"):
            raise ValueError(f"a budget has no effect with policy={self.policy!r}: use 'auto' or 'offload'.")
        asked = parse_budget(budget, device)
        self._asked, self.budget = asked, None if isinstance(asked, Share) else asked

    def change_budget(self, budget: Any) -> None:
        before = self._asked, self.budget
        was_native = self.native
        self.set_budget(budget)
        try:
            for call in list(self.calls):
                if not call.replays and was_native != self.native and call.finished is None:
                    raise KeepError(
                        "this call is held by PyTorch itself: the budget can be changed when its graph is gone."
                    )
                if call.replays and call.finished is None and self.budget is not None:
                    if call.held > self.budget:
                        call.give_way()
                    if call.held > self.budget:
                        raise KeepError(
                            f"what is alive holds {call.held} bytes and cannot be brought below {self.budget}: change the "
                            f"budget when its graph is gone."
                        )
        except KeepError:
            self._asked, self.budget = before
            raise
        self.plans.clear()

    @property
    def firm_budget(self) -> int | None:
        """The budget in bytes, where that does not depend on the forward."""
        return None if isinstance(self._asked, Share) else self.budget

    def resolve_budget(self, full: int) -> int | None:
        """The budget in bytes, now that it is known what retain_graph=True would hold."""
        if isinstance(self._asked, Share):
            self.budget = max(1, self._asked.of(full))
        return self.budget

    def take_least(self, least: int) -> int | None:
        """A share of what is not known before cannot be met: the least that can be is taken instead, with a warning."""
        if not isinstance(self._asked, Share) or self.budget is None:
            return None
        if least <= self.budget:  # another thread has taken more meanwhile
            return self.budget
        if not self._lessened:
            self._lessened = True
            part = float(self._asked.part)
            warn(
                f"secondpass.keep: {part:.0%} of full are {readable(self.budget)}, and the least that can be met here is "
                f"{readable(least)}, {part * least / self.budget:.0%} of full: that is taken.",
            )
        self.budget = least
        return least

    # The call --------------------------------------------------------------------------------------------------------

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not wanted():
            return function(*args, **kwargs)
        with unseen():
            call = self.begin(list(tensors((args, kwargs))))
        try:
            with self.recording(call):
                result = function(*args, **kwargs)
        except BaseException:
            with unseen():
                self.abandon(call)
            raise
        with unseen():
            self.end(call, result, (args, kwargs))
        return result

    def begin(self, inputs: list[torch.Tensor], block: bool = False) -> Call:
        """A forward begins, or a block of code."""
        self.finish_old()
        parts = self._parts()
        store, plan = None, None
        if (block or not self.native) and not _hooked():
            store = Store({storage_of(value)[0] for value in inputs}, parts.buffers, parts.on_gpu(inputs))
            plan = None if self.native else self.plans.first([value.shape for value in inputs])
        call = Call(self, inputs, parts.parameters, store, plan)
        if store is not None and not self.native:
            self._prepare(call, store, plan)
        return call

    def _parts(self) -> _Parts:
        """What the model is made of, looked up now and then: to look takes as long as a small layer."""
        if self._known_parts is None or self._known_parts.calls >= _LOOK:
            self._known_parts = _Parts(self.module)
        self._known_parts.calls += 1
        return self._known_parts

    def _prepare(self, call: Call, store: Store, plan: Plan | None) -> None:
        call.replays = True
        call.tape = Tape(store, call, None if plan is None else plan.script(bool(self.steps_between)))
        if plan is None:
            if self.policy == "offload" and self.budget is None:
                store.action = HOST
            if self.firm_budget is not None:
                call.calm = max(0, self.firm_budget - self.others(call)) * 0.6  # gradients on their way need room too
            elif self.policy == "recompute":
                call.calm = 0
        else:
            store.places = None
            call.follow(plan)

    @contextlib.contextmanager
    def recording(self, call: Call) -> Iterator[None]:
        """Within, a forward runs. It is written down, if that is wanted."""
        tape = call.tape
        with contextlib.ExitStack() as stack:
            stack.enter_context(_without_donations())
            stack.enter_context(apart_from_nodes(call))
            if tape is not None:
                stack.enter_context(self._routed(call, tape))
                stack.enter_context(watching_compiled())
                stack.enter_context(tape)
            elif call.store is not None:
                stack.enter_context(holding(call.store, call.unpack))
            self._here.calls.append(call)
            try:
                yield
            finally:
                self._here.calls.remove(call)  # blocks in generators and tasks need not end in the order they began in

    def end(self, call: Call, result: Any, given: Any = ()) -> None:
        """The forward is over."""
        outputs = list(tensors(result, objects=True))
        if call.store is None and all(value.grad_fn is None for value in outputs):
            outputs += self._left_behind(given)
        found = call.close_call(outputs)
        if not found and isinstance(result, (Generator, AsyncGenerator, Coroutine)):
            self._say_nothing_found("it computes when it is asked for more, after the call")
        if found:
            self.calls.add(call)
            attach(call)
            self._settle_end(call)
        else:
            self._look_for_history(call)
        call.close_tape()
        if call.replays:  # otherwise nobody has looked
            self.units.warn()

    def _left_behind(self, given: Any) -> Iterator[torch.Tensor]:
        """Where a call that returns no history may have left one: in its arguments, and in its modules."""
        yield from tensors(given, objects=True)
        for part in () if self.module is None else self.module.modules():
            yield from tensors(list(vars(part).values()))

    def _settle_end(self, call: Call) -> None:
        try:
            self.settle(call)
        except BaseException:
            call.finish("the budget cannot be met", for_good=True)
            call.close_tape()
            raise
        self.most = max(self.most, call.most)

    def settle(self, call: Call) -> None:
        """All sizes are known, or a pass begins: what stays?"""
        store, tape = call.store, call.tape
        if store is None or tape is None or call.settled:
            return
        call.settled = True
        with store.lock:
            if tape.planned and call.plan is not None:
                self.plans.followed(call.plan)
                if isinstance(self._asked, Share):
                    self.budget = call.plan.budget
                self._check_room(call)
            elif store.places is not None and len(tape.ops) == tape.number:
                settle(call, self)
            elif self.budget is not None:
                self._check_room(call)

    def _check_room(self, call: Call) -> None:
        """A forward that followed its plan, as far as there was one: others may have to give way."""
        if self.budget is None:
            return
        expected = call.plan.peak if call.plan is not None else call.held
        if expected + self.others(call) > self.budget:
            self.press(call)

    def abandon(self, call: Call) -> None:
        """The forward failed."""
        call.close_call([])
        call.finish("its forward failed", for_good=True)
        call.close_tape()

    def _look_for_history(self, call: Call) -> None:
        """Everything that was computed may have had no history."""
        if call.built and not call.replays and self.module is not None:
            if any(value.requires_grad for value in self.module.parameters()):
                self._say_nothing_found("a tensor inside of something that is not looked into?")

    @staticmethod
    def _say_nothing_found(why: str) -> None:
        warn(
            f"secondpass.keep found no output with a history in what the kept call returned ({why}): this call is not "
            f"kept.",
        )

    @contextlib.contextmanager
    def _routed(self, call: Call, tape: Tape) -> Iterator[None]:
        """Routes the calls of some modules through here, by the attribute that `Module.compile` uses for the same end.

        It covers the module's own hooks, is left out when a module is pickled, and is gone when the call is over. Units
        are routed while a forward is written down in full: later ones know them by their operations.
        """
        routes: list[tuple[nn.Module, Any]] = []
        with self._lock:
            self._routes += 1
            if self._routes == 1:
                if not tape.planned:
                    routes += [(module, _Unit(self, name)) for name, module in self.units.parts]
                known = {id(module) for module, _ in routes}
                fast = [part for part in self._parts().fast_paths if id(part) not in known and not part.training]
                routes += [(part, _Paused()) for part in fast]
                replaced = [(module, module._compiled_call_impl) for module, _ in routes]
                for module, route in routes:
                    route.module, route.replaced = module, module._compiled_call_impl
                    vars(module)["_compiled_call_impl"] = route
        try:
            yield
        finally:
            with self._lock:
                self._routes -= 1
                for module, before in replaced if routes else ():
                    if before is None:
                        vars(module).pop("_compiled_call_impl", None)
                    else:
                        vars(module)["_compiled_call_impl"] = before

    def enter_unit(self, name: str) -> Call | None:
        """A unit is called: a segment begins, unless another unit is at work."""
        call = self._here.calls[-1] if self._here.calls else None
        if call is None or call.tape is None or call.tape.planned or call.names[call.tape.segment]:
            return None
        self.units.ran(name)
        call.begin_segment(name)
        return call

    # Calls and passes ------------------------------------------------------------------------------------------------

    def others(self, call: Call, finished: bool = True) -> int:
        """Bytes that other calls hold: all of them, or those that still expect passes."""
        mine = (other for other in self.calls if other is not call)
        return sum(other.held for other in mine if finished or other.finished is None)

    def press(self, call: Call) -> None:
        for other in list(self.calls):
            if other is not call:
                other.give_way()

    @property
    def passes(self) -> int | None:
        """After how many passes a call is done with: as given, or as learned from earlier calls."""
        if self._given is not None:
            return self._given
        return max(self._learned) if self._learned else None

    def learn_passes(self, count: int) -> None:
        self._learned.append(count)

    def passed(self, call: Call, line: PassLine) -> None:
        self._passes.append(line)
        self.most = max(self.most, call.most)

    def surprise(self, call: Call) -> None:
        """A pass over a call that is over: it is right, but takes longer than it need."""
        if self._surprised:
            return
        self._surprised = True
        file, line = caller()
        warn(
            f"secondpass: {file}:{line} runs pass {call.passes} over a kept call whose saved tensors were let go ("
            f"{call.finished}). They are computed again. Give `passes={call.passes}` if that many are usual.",
        )

    def finish_old(self) -> None:
        """A new call begins: older ones of this thread that have had their passes are over."""
        thread = threading.get_ident()
        for call in list(self.calls):
            if call.finished is None and call.thread == thread and call.passes and call.passes >= (self.passes or 1):
                self.steps_between = False
                call.conclude("a new call began", for_good=False)

    def close(self) -> None:
        for call in list(self.calls):
            call.finish("it was closed", for_good=not call.replays)

    def plan(self) -> Plan:
        plan = self.plans.last
        if plan is not None:
            return plan
        lines = [line for call in self.calls for line in call.lines(0)] if self.native else []
        if not lines:
            raise KeepError(
                "there is no plan: it is made after the first forward, and where everything is held by PyTorch itself, it "
                "can be told while the graph is alive."
            )
        total = sum(line.bytes for line in lines)
        return Plan(self.budget, total, total, 0.0, tuple(_held(line) for line in lines))

    def ledger(self) -> Ledger:
        lines: list[Line] = []
        for number, call in enumerate(sorted(self.calls, key=lambda call: call.start)):
            lines += call.lines(number)
        return Ledger(self.budget, self.policy, self.passes, self.most, tuple(lines), tuple(self._passes))


def _held(line: Line) -> Any:
    from .budget.plan import PlanLine

    return PlanLine(line.unit, line.bytes, 0, 0, 0)


class _Unit:
    """Stands before a unit."""

    module: nn.Module
    replaced: Any

    def __init__(self, keeper: Keeper, name: str) -> None:
        self._keeper, self._name = keeper, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.replaced if self.replaced is not None else self.module._call_impl
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)  # a part of a compiled region
        call = self._keeper.enter_unit(self._name)
        try:
            if self.replaced is not None:
                with paused():
                    return function(*args, **kwargs)
            return function(*args, **kwargs)
        finally:
            if call is not None:
                call.begin_segment("")


class _Paused:
    """Stands before a module that must not see that it is watched."""

    module: nn.Module
    replaced: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.replaced if self.replaced is not None else self.module._call_impl
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with paused():
            return function(*args, **kwargs)


def wanted() -> bool:
    """Is there a graph to keep, and is nobody else tracing it?"""
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled() or torch.compiler.is_compiling():
        return False
    return torch._C._functorch.peek_interpreter_stack() is None and not _tracing()


def _hooked() -> bool:
    """Somebody else's saved-tensor hooks are at work (a checkpoint around us): the saved tensors are theirs."""
    return top_hooks(False) is not None


@contextlib.contextmanager
def _without_donations() -> Iterator[None]:
    """Regions compiled meanwhile must not reuse their saved tensors for gradients: a later pass needs them."""
    import sys

    config: Any = sys.modules.get("torch._functorch.config")
    if config is None or not getattr(config, "donated_buffer", False):
        yield
        return
    with config.patch(donated_buffer=False):
        yield
