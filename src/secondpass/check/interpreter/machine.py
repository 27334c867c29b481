# SPDX-License-Identifier: BSD-3-Clause
"""The state of one reading: frames, modules, decisions, limits. What statements and expressions mean is in other files."""

from __future__ import annotations

import ast
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ... import record
from ...record import Place
from ..files.project import Project
from .branch_decisions import Policy
from .graph import Engine
from .nodes import GraphNode
from .values import Class, Dict, External, Function, List, Module, Object, Stream, Tensor, Unknown, length

__all__ = ["Budget", "Costly", "Exhausted", "Frame", "Loop", "Machine", "Raised", "Return", "Scope"]


ASKED = "\0asked"
"""The name on a tensor of what it says whether it is so."""


class Exhausted(Exception):
    """The reading took too many steps or too long."""


class Costly(Exception):
    """What is read within a limit of its own took too many steps: see `Machine.within`."""


class Budget:
    """The steps that all readings of one file may take together. Steps, not seconds: what is found must not depend on how
    fast a machine is, or on what else it does."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps


class Raised(Exception):
    """An exception of the program that is read."""

    def __init__(self, name: str, value: Any = None, message: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.value = value
        self.message = message


class Return:
    """`return value`"""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Scope:
    """Names of a function call, a comprehension or a module, and the scope around it."""

    __slots__ = ("above", "module", "outside", "vars")

    def __init__(self, vars: dict[str, Any], above: Scope | None, module: Module) -> None:
        self.vars = vars
        self.above = above
        self.module = module
        self.outside: dict[str, str] | None = None
        """Names declared `global` or `nonlocal`."""


class Loop:
    """One loop that is being walked."""

    __slots__ = (
        "asked", "began", "born", "count", "counters", "cut", "first", "index", "jumped", "last", "lazy", "length", "listed",
        "passes", "period", "total", "touched", "turn", "want", "whole",
    )  # fmt: skip

    def __init__(self, first: int, lazy: bool = False) -> None:
        self.first = first
        self.began = 0
        """Steps of the reading when the loop began."""
        self.born = 0
        """The age of what is made in this turn: more than that."""
        self.passes = 0
        """How many passes there were when it began."""
        self.turn = 0
        self.count = 0
        """Which turn of it in the whole reading, or 0 for a comprehension."""
        self.cut = False
        self.lazy = lazy
        """Whether it stands in a generator: how far it goes is for the loop to say that walks the generator."""
        self.want = 40 if lazy else 3
        """How many turns are looked at."""
        self.period = 1
        """The modulus of a counter that something in it depends on."""
        self.whole = False
        """Whether all its turns are looked at."""
        self.jumped = False
        """Whether turns of it were left out: see `skipped_turns`."""
        self.length: int | None = None
        """How many turns it has, where that can be told."""
        self.listed = False
        """Whether it goes through things that are known one by one, not through numbers."""
        self.touched: dict[int, int] = {}
        """The leaves that it cleared or changed, by identity, and the turn in which it first did."""
        self.total: tuple[Any, float] | None = None
        """How many turns it has, where that is an unknown number: its identity, and what is added to it."""
        self.index = -1
        """How many elements came before that of this turn."""
        self.asked = False
        """Whether something depends on which turn is the last."""
        self.last = False
        """Whether this is the last turn, where something depends on that."""
        self.counters: dict[Any, Any] = {}
        """The numbers that its turns change: (container, name, turn, change)."""


class Frame:
    """One call that is under way."""

    __slots__ = ("cls", "function", "given", "line", "loops", "module", "owner", "scope")

    def __init__(self, function: str, module: Module, scope: Scope) -> None:
        self.function = function
        self.module = module
        self.scope = scope
        self.line = 1
        self.loops: list[Loop] = []
        self.owner: Any = None
        self.cls: Class | None = None
        self.given: dict[int, Any] = {}
        """What the `yield` expressions of the statement under way have given, by the identity of their nodes."""


class Machine(ABC):
    """Reads one program once, under one policy."""

    STEPS = 12_000
    STEPS_PER_LINE = 12
    BEFORE = 2
    """How many times as far a reading goes to come to the first pass."""
    TRAINING = 3
    """The same, for one that has made a pass."""
    DEPTH = 60

    def __init__(self, project: Project, policy: Policy, budget: Budget | None = None) -> None:
        Unknown.reset()  # the same program must always be read the same way
        self.project = project
        self.policy = policy
        self.budget = budget or Budget(sys.maxsize)
        self.engine = Engine()
        self.frames: list[Frame] = []
        self.modules: dict[str, Module] = {}
        self.started: set[int] = set()
        """The functions that processes have been started with, by their nodes' identity."""
        self.steps = 0
        self.most = self.STEPS
        self.limit = sys.maxsize
        """The number of steps at which what is read `within` a limit is left."""
        self.grad: bool | None = True
        """Whether operations are recorded (no_grad, inference_mode); None where it cannot be told."""
        self.reached: dict[tuple[str, int], int] = {}
        """How often each pass, step and call of a function was come to: (file, line) -> times."""
        self.called: set[tuple[str, int]] = set()
        """(file, line) of functions that were entered."""
        self.keep: list[Any] = []
        self.memo: dict[Any, Any] = {}
        self.changes: list[int] = []
        """Serial numbers of what was changed, in order: see `module_memo`."""
        self.returned: tuple[Module, int] | None = None
        """Module and line where the last function returned."""
        self.hooks: list[Any] = []
        """(module or tensor, function) of the hooks that passes call."""
        self.compared: dict[int, Any] = {}
        self.decided: dict[int, Any] = {}
        """Comparisons, and conditions, inside loops that are cut short: see `unfinished_loops`."""
        self.modulus = 0
        self.remainder: float = 0
        """The last remainder that was computed, and its modulus."""
        self.settings = 0
        """How often it was changed which parameters gather gradients."""
        self.ran: dict[tuple[str, int, str], None] = {}
        """(file, line, function) of the statements that ran."""
        self.trained = 0
        """How many statements had run when the last pass was made."""
        self.lacks: dict[tuple[str, int, str], int] = {}
        """(file, line, name) of what should have been there and was not, and how many statements had run by then."""
        self.late: set[tuple[str, int]] = set()
        """(file, line) of the statements that ran for the first time after turns of a loop were left out."""
        self.guessing = False
        """Whether it reads a function whose arguments cannot be told: they may be anything that the file has made."""
        self.brief = False
        """Whether so much had to be read before the first pass that most of it was looked at in brief."""
        self.hurried = 0
        """How many statements had run when the rest of the program was begun to be looked at in brief."""
        self.options: list[str] = []
        """The options of the program that were read since the last condition was begun."""
        self.soft: bool | None = None
        """The way to go where data would be asked for."""
        self.trying = 0
        """How many `try` statements with handlers are under way."""
        self.short = 0
        """How many loops that will be cut short are being walked: what grows in them is loose."""
        self.gathered = 0
        """How often history was put into what outlives a turn of the loops around."""
        self.cuts = 0
        """How many loops were cut short so far."""
        self.sites: dict[tuple[Place, ...], int] = {}
        self.turns: dict[tuple[str, int], int] = {}
        """How many turns each loop has made in all."""
        self._places: dict[tuple[str, int, str], Place] = {}

    # where we are -----------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def place(self) -> Place:
        """The place of the statement under way."""
        return self._place(self.frames[-1])

    def _place(self, frame: Frame) -> Place:
        key = (frame.module.file, frame.line, frame.function)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(*key)
        return found

    def stack(self) -> tuple[Place, ...]:
        """The places of all frames, innermost first."""
        return tuple(self._place(f) for f in reversed(self.frames))

    def loops(self) -> tuple[record.Loop, ...]:
        """The loops that are being walked, innermost first."""
        return tuple(
            record.Loop(f.module.file, loop.first, loop.count)
            for f in reversed(self.frames)
            for loop in reversed(f.loops)
            if loop.count
        )

    def iteration(self) -> int:
        """How often the program has come to this place, in this way."""
        return self.sites.get(self.stack(), 0)

    def visit(self) -> None:
        """Counts that this place was come to."""
        frame = self.frames[-1]
        key = (frame.module.file, frame.line)
        stack = self.stack()
        self.sites[stack] = self.sites.get(stack, 0) + 1
        self.reached[key] = self.reached.get(key, 0) + 1

    def spend(self) -> None:
        """Counts one piece of work; raises `Exhausted` at the limit."""
        self.steps += 1
        if self.steps == self.most:
            self.brief = not self.engine.passes
        if self.steps > self.BEFORE * self.most:
            if not self.engine.passes or self.steps > self.TRAINING * self.most:
                raise Exhausted
        if self.steps > self.limit:
            raise Costly
        self.budget.left -= 1
        if self.budget.left < 0:
            raise Exhausted

    def within(self, steps: int, act: Callable[[], Any]) -> Any:
        """What a part of the program gives that nothing else depends on, or None if it takes too many steps."""
        outer = self.limit
        self.limit = min(outer, self.steps + steps)
        try:
            return act()
        except Costly:
            if self.steps > outer:
                raise
            return None
        finally:
            self.limit = outer

    def is_late(self) -> bool:
        """Whether so many steps are spent that the rest is looked at in brief: a quarter of those before the first pass,
        two thirds of them all."""
        if not self.engine.passes:
            return self.steps > self.most // 2
        if self.steps <= (self.TRAINING - 1) * self.most:
            return False
        self.hurried = self.hurried or len(self.ran)
        return True

    def lack(self, error: str) -> Unknown:
        """What a value should have that it does not have as far as it is known: a program that runs has it.

        Where the program may catch the exception it is raised.
        """
        if self.trying:
            raise Raised(error)
        self.note_lack(error)
        return Unknown()

    def note_lack(self, name: str) -> None:
        """Notes that the program uses here what it has not, as far as it is known."""
        frame = self.frames[-1]
        self.lacks.setdefault((frame.module.file, frame.line, name), len(self.ran))

    def allow(self, file: str) -> None:
        """Long programs may take more steps."""
        self.most = max(self.STEPS, self.STEPS_PER_LINE * self.project.text(file).count("\n"))

    def turn(self, loop: Loop, counted: bool = True) -> None:
        """Begins a turn of a loop."""
        loop.turn += 1
        if counted:
            key = (self.frames[-1].module.file, loop.first)
            loop.count = self.turns[key] = self.turns.get(key, 0) + 1
        self.spend()

    # what statements, expressions and PyTorch's functions mean: `torch.machine` puts it together --------------------------

    @abstractmethod
    def block(self, body: Sequence[ast.stmt], scope: Scope) -> Any: ...
    @abstractmethod
    def yields(self, body: Sequence[ast.stmt], scope: Scope) -> Generator[Any, Any, Any]: ...
    @abstractmethod
    def evaluate(self, node: ast.expr, scope: Scope) -> Any: ...
    @abstractmethod
    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None: ...
    @abstractmethod
    def placed(self, made: List) -> List: ...
    @abstractmethod
    def make_function(self, node: Any, scope: Scope, name: str) -> Function: ...
    @abstractmethod
    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any: ...
    @abstractmethod
    def call_external(self, function: External, args: list[Any], kwargs: dict[str, Any]) -> Any: ...
    @abstractmethod
    def call_unknown(self, function: Unknown, args: list[Any], kwargs: dict[str, Any], name: str = "") -> Any: ...
    @abstractmethod
    def set_item(self, owner: Any, key: Any, value: Any, node: ast.AST | None = None) -> None: ...
    @abstractmethod
    def operate(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any: ...
    @abstractmethod
    def operate_in_place(self, name: str, tensor: Tensor, args: list[Any], target: str) -> Tensor: ...
    @abstractmethod
    def tensor_element(self, tensor: Tensor) -> Any: ...
    @abstractmethod
    def tensor_item(self, tensor: Tensor, key: Any) -> Any: ...
    @abstractmethod
    def set_tensor_item(self, tensor: Tensor, value: Any, node: ast.AST | None) -> None: ...
    @abstractmethod
    def tensor_attribute(self, tensor: Tensor, name: str, node: ast.AST | None) -> Any: ...
    @abstractmethod
    def set_tensor_attribute(self, tensor: Tensor, name: str, value: Any, node: ast.AST | None) -> None: ...
    @abstractmethod
    def custom_function(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any: ...
    @staticmethod
    @abstractmethod
    def members(owner: Object, name: str) -> Dict: ...
    @staticmethod
    @abstractmethod
    def named(owner: Object) -> Dict: ...
    @abstractmethod
    def before_forward(self, owner: Object, args: list[Any]) -> list[Any]: ...
    @abstractmethod
    def after_forward(self, owner: Object, args: list[Any], result: Any) -> Any: ...
    @abstractmethod
    def remembered(self, owner: Object, args: list[Any], kwargs: dict[str, Any], act: Callable[[], Any]) -> Any: ...
    @staticmethod
    @abstractmethod
    def as_tensor(value: Any) -> Any: ...
    @abstractmethod
    def member(self, owner: Unknown, name: str) -> Any: ...
    @abstractmethod
    def part(self, value: Unknown) -> GraphNode | None: ...
    @abstractmethod
    def establish(self, roots: list[Tensor]) -> None: ...
    @abstractmethod
    def name_optimizer(self, owner: Object, name: str) -> None: ...

    # decisions --------------------------------------------------------------------------------------------------------

    def truth(self, value: Any, lean: bool | None = None) -> bool:
        """The truth of a value; open questions go to the policy."""
        known = self.known_truth(value)
        if known is not None:
            return known
        key = self.question(value)
        lean = self.policy.aim() if lean is None else lean
        return self._answer(key, self.soft if lean is None and _asks_for_data(key) else lean)

    @staticmethod
    def question(value: Any) -> Any:
        """The identity of the question whether something is so."""
        if isinstance(value, Tensor):
            return (value.attrs or {}).get(ASKED, ("measured", value.age, value.store.serial))
        return value.key if isinstance(value, Unknown) else Unknown().key

    def condition(
        self, node: ast.If | ast.IfExp, scope: Scope, lean: bool | None = None, soft: bool | None = None
    ) -> tuple[Any, bool]:
        """What an `if` asks, and which way it goes: the one to lean to, or, if it asks for data, at least that one."""
        site = self.frames[-1].module.file, node.lineno, node.col_offset
        outer, self.policy.site = self.policy.site, site
        options, self.options = self.options, []
        try:
            test = self.evaluate(node.test, scope)
            self.soft = soft
            answer = self.truth(test, lean)
            self.soft = None
            read = self.options
        finally:
            self.policy.site, self.options = outer, options
        known = self.known_truth(test) is not None
        if known and read:
            answer = self.policy.decided(site, answer, {True, False} if node.orelse else {True}, read)
        if not known and lean is None:
            self.policy.went(site, answer, {True, False} if node.orelse else {True})
        return test, answer

    def _answer(self, key: Any, lean: bool | None, straight: bool = True) -> bool:
        if isinstance(key, tuple) and key:
            if key[0] == "not":
                return not self._answer(key[1], None if lean is None else not lean, not straight)
            if key[0] == "likely":
                return bool(key[1])
        self.policy.asks(key, straight)
        if isinstance(key, tuple) and key[:1] == ("measured",):
            open_ = (o for f in reversed(self.frames) for o in reversed(f.loops) if not o.whole)
            loop = next((o for o in open_ if key[1] > o.born), None)
            if loop is not None:
                turn = loop.count or loop.turn  # a loop that ends at once is longer the next time
                return self.policy.answer(("by turns", turn % 2, key), lean)
        if self.policy.answers.get(("none", key)):
            return False
        return self.policy.answer(key, lean)

    def known_truth(self, value: Any) -> bool | None:
        """The truth of a value where it can be told."""
        if isinstance(value, Unknown):
            return None
        if isinstance(value, (bool, int, float, str, bytes, type(None))):
            return bool(value)
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            size = length(value)
            if size is None:
                return True if len(value) else None
            return size > 0
        if isinstance(value, (Tensor, Stream)):
            return None
        if isinstance(value, Object):
            return self._object_truth(value)
        return True

    def _object_truth(self, value: Object) -> bool | None:
        """The truth of an object: what its methods say, or whether it has elements."""
        for name in ("__bool__", "__len__"):
            found = value.cls.find(name)
            if found and isinstance(found[0], Function):
                return self.known_truth(self.call(found[0], [value], {}))
        items = value.hidden.get("items")
        return True if items is None or value.cls.module is None else self.known_truth(items)

    # modules ----------------------------------------------------------------------------------------------------------

    def module(self, name: str, file: str) -> Module:
        """The module of a file, not yet executed."""
        found = self.modules.get(file)
        if found is None:
            found = self.modules[file] = Module(name, file)
        return found

    def execute(self, module: Module, part: Callable[[ast.Module], list[ast.stmt]] | None = None) -> None:
        """Executes a module's body, or part of it, once."""
        if module.state != "new":
            return
        module.state = "running"
        tree = self.project.tree(module.file)
        module.globals.setdefault("__name__", module.name)
        module.globals.setdefault("__file__", module.file)
        if tree is None:
            module.state = "done"
            return
        scope = Scope(module.globals, None, module)
        grad, self.grad = self.grad, True
        short, self.short = self.short, 0  # whichever loop first needs a module: its body belongs to none
        self.frames.append(Frame("<module>", module, scope))
        try:
            self.block(part(tree) if part else tree.body, scope)
        finally:
            self.frames.pop()
            self.grad, self.short = grad, short
            module.state = "done"

    def enter(self, function: Function) -> None:
        """Notes that a function was entered."""
        self.called.add((function.module.file, function.node.lineno))


def _asks_for_data(key: Any) -> bool:
    while isinstance(key, tuple) and key[:1] == ("not",):
        key = key[1]
    return isinstance(key, tuple) and key[:1] == ("measured",)


def line_of(node: ast.AST) -> int:
    """The line that a traceback would show for an expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return getattr(node, "lineno", 1)
