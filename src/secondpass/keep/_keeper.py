# SPDX-License-Identifier: BSD-3-Clause
"""What belongs to one kept function across its calls: the budget, the units, and what was learned."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from . import _engine
from ._budget import parse_budget
from ._frame import Frame
from ._ledger import Ledger, Line, PassLine
from ._replay import replaying
from ._room import settle_budget
from ._run import FULL, HALVES, SLIM, Fate, Run
from ._tree import tensors
from ._unit import Unit, choose_units

__all__ = ["POLICIES", "Keeper"]

POLICIES = ("auto", "retain", "recompute", "offload")
_HOOKS_FORBIDDEN = "saved tensor hooks"


class _Here(threading.local):
    frame: Frame | None = None
    in_unit = False


class Keeper:
    """The state behind one kept function."""

    def __init__(
        self,
        call: Callable[..., Any],
        module: nn.Module | None,
        budget: Any,
        units: Any,
        policy: str,
        passes: int | None,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"`policy` should be one of {', '.join(POLICIES)}. (got {policy!r})")
        if passes is not None and (isinstance(passes, bool) or not isinstance(passes, int) or passes < 1):
            raise ValueError(f"`passes` should be a number of passes, at least 1. (got {passes!r})")
        self.call, self.module, self.policy = call, module, policy
        device = next((value.device for value in module.parameters()), None) if module is not None else None
        self.budget = parse_budget(budget, device)
        self.root = Unit("", call, module)
        self.native = policy == "retain" or (policy == "auto" and self.budget is None)
        self.units: dict[int, Unit] = {}
        if not self.native:
            self.units = {id(part): Unit(name, part, part) for name, part in self._parts(module, units)}
        elif units != "auto":
            self._parts(module, units)  # say what is wrong with it now
        self.frames: weakref.WeakSet[Frame] = weakref.WeakSet()
        self.optimized = False
        """An optimizer steps between the calls."""
        self.most = 0
        self.glue: int | None = None
        """Bytes between the units, as the plan found them."""
        self.known: tuple[int, int] | None = None
        """How many units were let go and how many bytes held by a call that followed the plan and had enough room."""
        self._given = passes
        self._learned: deque[int] = deque(maxlen=3)
        self._plan: list[tuple[Any, Fate]] = []
        self._here = _Here()
        self._lock = threading.Lock()
        self._users = 0
        self._costs: deque[dict[str, Any]] = deque(maxlen=16)

    @staticmethod
    def _parts(module: nn.Module | None, units: Any) -> list[tuple[str, nn.Module]]:
        if module is not None:
            return choose_units(module, units)
        if units == "auto":
            return []
        found = list(units) if isinstance(units, (list, tuple)) else []
        if not found or not all(isinstance(part, nn.Module) for part in found):
            raise TypeError(f"`units` should be 'auto' or a list of modules where a function is kept. (got {units!r})")
        return [(f"{number}:{type(part).__name__}", part) for number, part in enumerate(found)]

    def unit(self, key: int) -> Unit:
        return self.units.get(key, self.root)

    # The call ------------------------------------------------------------------------------------------------------

    def run(self, *args: Any, **kwargs: Any) -> Any:
        if not self._wanted():
            return self.call(*args, **kwargs)
        self.finish_old()
        frame = Frame(self, args, kwargs)
        before, self._here.frame = self._here.frame, frame
        try:
            with self._intercepted():
                if self.native or self.units:
                    result = self.call(*args, **kwargs)
                else:
                    result = self._in_unit(self.root, self.call, args, kwargs)
        except BaseException:
            frame.abandon()
            raise
        finally:
            self._here.frame = before
        if frame.close_call(result):
            self.frames.add(frame)
            settle_budget(frame)
            _engine.attach(frame)
        return result

    @staticmethod
    def _wanted() -> bool:
        if not torch.is_grad_enabled() or torch.is_inference_mode_enabled() or getattr(replaying, "depth", 0):
            return False
        if torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None:
            return False
        return not torch.jit.is_tracing()

    def _in_unit(self, unit: Unit, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = self._here.frame
        if frame is None or self._here.in_unit or not self._wanted() or unit.late or _hooked():
            return call(*args, **kwargs)
        if unit.pinned is not None and self.budget is None:
            return call(*args, **kwargs)  # held by PyTorch itself
        run = Run(frame, unit, args, kwargs, self._fate(frame, unit, args, kwargs))
        frame.add_run(run)
        self._here.in_unit = True
        try:
            return run.forward(call, args, kwargs)
        except RuntimeError as error:
            if _HOOKS_FORBIDDEN not in str(error):
                raise
            # torch.func refuses to run under hooks. The unit is left to PyTorch, and its forward starts afresh.
            unit.late, unit.pinned = True, "its forward uses torch.func"
            frame.runs.pop()
            with run.surroundings.again(unit.habits, resume=True):
                return call(*args, **kwargs)
        finally:
            self._here.in_unit = False

    def _fate(self, frame: Frame, unit: Unit, args: Any, kwargs: Any) -> Fate:
        """What becomes of a run, and how far it is cut down: see NOTE [ Levels ]."""
        if self.policy == "offload":
            everything = Fate("offload", SLIM)
            return everything if self.budget is None else self._planned(frame, unit, args, kwargs, everything)
        if self.policy == "recompute" and unit.pinned is None:
            return Fate("recompute", HALVES)
        fate = self._planned(frame, unit, args, kwargs, Fate("retain", FULL))
        return fate if unit.pinned is None else fate._replace(mode="retain")

    def _planned(self, frame: Frame, unit: Unit, args: Any, kwargs: Any, otherwise: Fate) -> Fate:
        """What the last call with the same sizes came to."""
        signature = _signature(unit, args, kwargs)
        frame.signatures.append(signature)
        place = len(frame.signatures) - 1
        if frame.follows and place < len(self._plan) and self._plan[place][0] == signature:
            return self._plan[place][1]
        frame.follows = False
        return otherwise

    def learn_plan(self, frame: Frame, fates: list[Fate]) -> None:
        if len(frame.signatures) == len(fates):
            self.known = None
            self._plan = list(zip(frame.signatures, fates, strict=True))

    @contextlib.contextmanager
    def _intercepted(self) -> Iterator[None]:
        """Routes the units' calls through here, by the attribute that `Module.compile` uses for the same end.

        It covers the module's own hooks, is left out when a module is pickled, and is gone when the call is over.
        """
        with self._lock:
            self._users += 1
            if self._users == 1:
                for unit in self.units.values():
                    unit.replaced = unit.module._compiled_call_impl
                    vars(unit.module)["_compiled_call_impl"] = _Route(self, unit, unit.replaced)
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    for unit in self.units.values():
                        if unit.replaced is None:
                            vars(unit.module).pop("_compiled_call_impl", None)
                        else:
                            vars(unit.module)["_compiled_call_impl"] = unit.replaced

    # Budget and passes ---------------------------------------------------------------------------------------------

    def others(self, frame: Frame) -> int:
        return sum(other.held + other.fixed() for other in self.frames if other is not frame and not other.finished)

    def press(self, frame: Frame) -> None:
        for other in list(self.frames):
            if other is not frame:
                other.give_way()

    @property
    def passes(self) -> int | None:
        """After how many passes a call is done with: as given, or as learned from earlier calls."""
        if self._given is not None:
            return self._given
        return max(self._learned) if self._learned else None

    def learn_passes(self, count: int) -> None:
        self._learned.append(count)

    def passed(self, number: int, record: dict[str, Any]) -> None:
        self._costs.append({"number": number, **record})

    def finish_old(self) -> None:
        """A new call begins: older ones that have had their passes are over."""
        for frame in list(self.frames):
            if frame.finished is None and frame.passes and len(frame.passes) >= (self.passes or 1):
                frame.conclude("a new call began", for_good=False)

    def close(self) -> None:
        for frame in list(self.frames):
            frame.finish("it was closed")

    def ledger(self) -> Ledger:
        lines: list[Line] = []
        for number, frame in enumerate(sorted(self.frames, key=lambda frame: frame.start)):
            lines += frame.lines(number)
        passes = [
            PassLine(c["number"], c.get("seconds", 0.0), c["recomputed"], c["recompute_seconds"]) for c in self._costs
        ]
        return Ledger(self.budget, self.policy, self.passes, self.most, tuple(lines), tuple(passes))


class _Route:
    def __init__(self, keeper: Keeper, unit: Unit, replaced: Any) -> None:
        self._keeper, self._unit, self._replaced = keeper, unit, replaced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._replaced if self._replaced is not None else self._unit.module._call_impl
        return self._keeper._in_unit(self._unit, call, args, kwargs)


def _hooked() -> bool:
    """Somebody else's saved-tensor hooks are at work (a checkpoint around us): the buffers are theirs."""
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    return top is not None and top(False) is not None


def _signature(unit: Unit, args: Any, kwargs: Any) -> Any:
    sizes = tuple((tuple(t.shape), t.dtype, t.requires_grad) for t in tensors((args, kwargs)))
    return unit.name, sizes, torch.is_autocast_enabled() if not _cpu_only() else False


def _cpu_only() -> bool:
    return not torch.cuda.is_available()
