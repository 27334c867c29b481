# SPDX-License-Identifier: BSD-3-Clause
"""Does a repaired program build the graphs that the broken one was about to walk?

NOTE [ Graphs before and after ]
1. A repair that cuts, copies or keeps history leaves passes and steps in their order, up to the pass that failed.
2. A player of a pass is an optimizer that steps next after it, in the repaired program. Every operation that was fresh in the
   broken program's pass and led to what a player trains is still there (see NOTE [ The shape of a graph ]): a gradient that is
   cut, a term that became a constant, a loop that is gone, all show as operations that are missing. And every parameter of the
   player that the broken root reached is still reached, be it through history that was gone; only a state that is cut may
   lead to one that later windows reach. One of several players may be left out as a whole (the other network's output is
   detached). For both, `cover` asks whether it is trained elsewhere.
   What is stored is cut where it is put away, be it that no pass has walked it yet: then only parameters are asked for.
   A value that was made once and goes through one pass after the other is cut where it is made: then the first pass loses what
   the failing one had of old history and no more, and no pass is unlike the others.
3. A forward that is run again has every operation of the old one; if it has more, it has all of the old part again (a memo
   that is computed twice) or the same value. It draws no random numbers that were not drawn before (other data), unless it
   was meant to run in every turn: then its noise is of that turn. One and the same loss is not sent through once more for
   another count of its gradient, nor for one that no step uses.
4. Losses that are added up are those between two steps: the window of the failing pass has all that its passes had. A reentrant
   checkpoint is one node there, and a pass of its own for what it stands for. A checkpoint of the other kind has no such node,
   and its operations are the pass's: it has those of all these passes, and the loss has its value (see `judge`).
5. As long as graphs are the same, so are gradients, and so are the values up to the next pass and in it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...record import Finding, Remedy
from .run import Run

__all__ = ["KEEPS_EVENTS", "UNUSED", "missing", "of_other_kind", "same_values"]

UNUSED = "no step uses the gradient of the second pass: which one is to be looked at cannot be told"
DOUBLED = "a step that comes next would use the gradient of the first pass and that of the second"
KEEPS_EVENTS = {
    "add-zero-grad", "clone", "create-graph", "detach", "drop-retain", "inputs", "item", "keep-history", "retain-graph",
}  # fmt: skip
"""Kinds that leave every pass and every step where it is."""
_KEEPS_VALUES = {"detach", "inputs", "retain-graph"}
_STEPS = 256
"""Later steps are counted, not noted."""
_HAND = "-1"
_REENTRANT = "CheckpointFunctionBackward"
Line = dict[str, Any]


def _events(run: Run) -> list[str]:
    """`pass`, and the numbers of the optimizers that step, in order, as far as they are noted."""
    found: list[str] = []
    steps = 0
    for line in run.lines:
        if line["what"] == "pass":
            found.append("pass")
        elif line["what"] == "step":
            found.append(str(line.get("optimizer", -1)))
            steps += 1
            if steps == _STEPS:
                break
    return found


def _passes(run: Run) -> list[Line]:
    return [line for line in run.lines if line["what"] == "pass"]


def _players(run: Run) -> list[set[str]]:
    """For every pass, who steps next: the first steps behind it, up to the pass that follows them."""
    found: list[set[str]] = []
    waiting: list[set[str]] = []
    stepped = False
    for event in _events(run):
        if event == "pass":
            if stepped:
                waiting = []
            stepped = False
            found.append(set())
            waiting.append(found[-1])
        else:
            stepped = True
            for players in waiting:
                players.add(event)
    if not any(found):
        return [{_HAND} for _ in found]
    return found


def missing(finding: Finding, remedy: Remedy, before: Run, after: Run, failed: bool) -> str:
    """What the repaired program does not do or build any more, in words; "" if nothing is missing."""
    then, now = _events(before), _events(after)
    last = len(then) if failed else min(len(then), len(now))
    if finding.cause == "swallowed-error":  # up to the pass that failed and was not followed by what follows it now
        last = next((i for i in range(last) if then[i] != now[i]), last)
    alike = then[:last] == now[:last]
    if remedy.kind in KEEPS_EVENTS and not alike:
        return "passes and steps do not follow each other as they did before"
    graphs = "" if remedy.kind == "clone" else "fresh"  # a copy has operations of its own
    if not failed:
        passes = then[:last].count("pass")
        # Where an error was caught, the program stepped with what there was: for whom its pass was to be is not known.
        every = finding.cause == "swallowed-error"
        return (
            _at_passes(before, after, graphs, leaves=True, end=passes, every=every)
            if remedy.kind in KEEPS_EVENTS
            else ""
        )
    idle = {str(o) for line in _passes(before) for o, _ in line.get("behind", ())} - set(now)
    idle -= {str(o) for line in after.lines if line["what"] == "step" for o in line.get("within", ())}
    if remedy.kind not in KEEPS_EVENTS and idle and after.outcome == "ended":
        return f"optimizer {int(min(idle)) + 1} would never step"
    if remedy.kind == "reorder":
        return _at_passes(before, after, graphs, leaves=True)
    if not alike:
        left_out = {_REENTRANT} if of_other_kind(finding, remedy) else set[str]()
        return _in_window(before, after, left_out) if remedy.kind in {"combine-losses", "other"} else ""
    if remedy.kind == "recompute":
        return _made_again(finding, before, after) or _at_passes(before, after, "", leaves=True)
    if remedy.kind == "detach" and _made_once(finding):
        return _cut_alike(before, after)
    if remedy.kind == "detach" and _stored(finding):
        graphs = ""
    state = (remedy.kind, finding.cause) == ("detach", "carried-state")
    if finding.cause == "accumulated-loss" and remedy.kind != "detach":
        return _at_passes(before, after, "pure", first=before.passes - 1)
    return _at_passes(before, after, "turn" if state and graphs else graphs, leaves=not state)


def of_other_kind(finding: Finding, remedy: Remedy) -> bool:
    """Whether a repair makes checkpoints of the kind that is not reentrant."""
    return remedy.kind == "other" and (finding.cause == "freed-access" or remedy.target == "use_reentrant")


def _made_once(finding: Finding) -> bool:
    """Whether one value goes through one and the same pass again and again; where it was made did not run again."""
    seen = (finding.facts.get("why") or {}).get("facts") or {}
    one = finding.freed == finding.failed and finding.facts.get("freed_stack") == finding.facts.get("used_stack")
    return one and seen.get("again") is False and seen.get("next") is not True


def _stored(finding: Finding) -> bool:
    """Whether history comes out of a container: a cut where it is put there takes what no pass has walked yet as well."""
    return finding.cause == "stored-history" or bool(finding.facts.get("stays") or finding.facts.get("sampled"))


def _cut_alike(before: Run, after: Run) -> str:
    """Rule 2, for what was made once."""
    last = before.passes - 1
    failing, same = _passes(before)[last], _passes(after)[last]
    players = _players(after)
    for k, (then, now) in enumerate(zip(_passes(before), _passes(after), strict=False)):
        if not _readable(then, now, failing, same) or k >= len(players):
            continue
        for player in players[k]:
            stale = Counter(failing["whole"].get(player, {})) - Counter(failing["fresh"].get(player, {}))
            lost = _lost(then, [now], "fresh", player) - (stale if k < last else Counter())
            if lost:
                return _told(lost, k + 1)
            if _leaves(failing, player) - _leaves(now, player):
                return f"pass {k + 1} would not reach all parameters of optimizer {int(player) + 1} any more"
            more = Counter(now["whole"].get(player, {})) - Counter(same["whole"].get(player, {}))
            old = Counter(failing["old"].get(player, {}))
            if player in players[last] and old and not old - more:
                return f"pass {k + 1} would train through what is a constant for the later ones"
    return ""


def _lost(then: Line, now: list[Line], kind: str, player: str) -> Counter[str]:
    had: Counter[str] = Counter(then.get(kind, {}).get(player, {}))
    has: Counter[str] = Counter()
    for line in now:
        has += Counter(line["whole"].get(player, {}))
    return had - has


def _told(lost: Counter[str], number: int) -> str:
    count = sum(lost.values())
    what = ", ".join(sorted(n.removesuffix("0").removesuffix("Backward") for n in lost)[:3])
    return f"pass {number} would lose {count} operation{'s' * (count > 1)} that lead to what is trained ({what})"


def _readable(*lines: Line) -> bool:
    return all("whole" in line for line in lines)


def _at_passes(
    before: Run,
    after: Run,
    kind: str,
    *,
    leaves: bool = False,
    first: int = 0,
    end: int | None = None,
    every: bool = False,
) -> str:
    """Rule 2, for the passes up to the failing one; `every`: for each of the optimizers that step next."""
    players = _players(after)
    for k, (then, now) in enumerate(zip(_passes(before)[:end], _passes(after), strict=False)):
        if not _readable(then, now) or k >= len(players) or k < first:
            continue
        asked = [p for p in players[k] if then["whole"].get(p)]
        lost = {p: _lost(then, [now], kind, p) for p in asked}
        left = {p: _leaves(then, p) - _leaves(now, p) if leaves else set() for p in asked}
        kept = [p for p in asked if not lost[p] and not left[p] and now["whole"].get(p)]
        for player in asked:
            if kept and not every and not now["whole"].get(player):
                continue  # the other player's
            if lost[player]:
                return _told(lost[player], k + 1)
            if left[player]:
                count = len(left[player])
                many = f"{count} parameters" if count > 1 else "a parameter"
                return f"pass {k + 1} would not reach {many} of optimizer {int(player) + 1} any more"
    return ""


def _leaves(line: Line, player: str) -> set[int]:
    return {i for o, i in line.get("behind", ()) if str(o) == player}


def _made_again(finding: Finding, before: Run, after: Run) -> str:
    """Rule 3."""
    k, facts = before.passes - 1, finding.facts
    then, now = _passes(before)[k], _passes(after)[k]
    twice = finding.cause == "repeated-backward"
    if (
        twice
        and (facts.get("adds") or facts.get("looping"))
        and not facts.get("moves")
        and k
        and now.get("digest") == _passes(after)[k - 1].get("digest")
    ):
        return f"the same gradient would be {'added' if facts.get('adds') else 'computed'} once more"
    if twice and facts.get("moves") and not (facts.get("looping") or facts.get("closure")) and not _stepped(after, k):
        return UNUSED
    if twice and facts.get("moves") and not facts.get("closure") and _mixed(after, k):
        return "its gradient would be added to that of the next loss: whether that is wanted cannot be told"
    if twice and facts.get("moves") and _doubled(after, k):
        return DOUBLED
    turns = facts.get("moves") or (facts.get("looping") and not facts.get("adds"))
    every_turn = finding.cause == "hoisted-forward" or (twice and bool(turns) and not _by_turns(after, k))
    if not every_turn and then.get("random") != now.get("random"):
        return "what is run again draws other random numbers"
    if not _readable(then, now):
        return ""
    for player in _players(after)[k]:
        lost = _lost(then, [now], "whole", player)
        if lost:
            return _told(lost, k + 1)
        whole, old = (Counter(then[kind].get(player, {})) for kind in ("whole", "old"))
        more = Counter(now["whole"].get(player, {})) - whole
        if more and then.get("digest") != now.get("digest") and not _is_multiple(more, old):
            return "the forward that is run again is not the one that was there"
    return ""


def _stepped(run: Run, k: int) -> bool:
    """Whether a step uses what a pass leaves, before it is cleared."""
    waiting: set[int] | None = None
    for line in run.lines:
        if line["what"] == "pass":
            if line["number"] == k + 1:
                waiting = {o for o, _ in line.get("behind", ())} or {-1}
            elif waiting is not None:
                waiting -= set(line.get("clean", ()))
                if not waiting:
                    return False
        elif line["what"] == "step" and waiting is not None and line.get("optimizer", -1) in waiting:
            return True
    return waiting is None or waiting == {-1} or run.outcome != "ended"


def _mixed(run: Run, k: int) -> bool:
    """Whether what a pass leaves is not stepped with before another pass adds to it."""
    own: set[int] = set()
    for line in run.lines:
        if line["what"] == "pass" and own:
            return bool((own & {o for o, _ in line.get("behind", ())}) - set(line.get("clean", ())))
        if line["what"] == "pass" and line["number"] == k + 1:
            own = {o for o, _ in line.get("behind", ())}
        elif line["what"] == "step" and line.get("optimizer", -1) in own:
            return False
    return False


def _doubled(run: Run, k: int) -> bool:
    """Whether the gradient of a pass is added, for an optimizer that steps next, to that of the pass before it."""
    here = _passes(run)[k]
    both = _reached(_passes(run)[k - 1]) & _reached(here) & _players(run)[k] if k else set[str]()
    return bool(both - _stepped_before(run, k) - {str(o) for o in here.get("clean", ())})


def _by_turns(run: Run, k: int) -> bool:
    """Whether others step next than have stepped since the pass before: all of them are given one loss, of one batch."""
    stepped = _stepped_before(run, k)
    return bool(stepped) and not stepped & _players(run)[k]


def _stepped_before(run: Run, k: int) -> set[str]:
    """Who has stepped between a pass and the one before it."""
    at = [i for i, line in enumerate(run.lines) if line["what"] == "pass"]
    return (
        {str(line.get("optimizer", -1)) for line in run.lines[at[k - 1] : at[k]] if line["what"] == "step"}
        if k
        else set()
    )


def _reached(line: Line) -> set[str]:
    return {str(o) for o, _ in line.get("behind", ())}


def _is_multiple(more: Counter[str], counts: Counter[str]) -> bool:
    """Whether all of something is there so many times more: what was kept is computed wherever it is asked for."""
    times = {more[name] / count for name, count in counts.items() if count}
    return more.keys() == (+counts).keys() and len(times) == 1 and times.pop().is_integer()


def _in_window(before: Run, after: Run, left_out: set[str]) -> str:
    """Rule 4: all passes since the last step, together."""
    steps = before.steps
    old = _window(before, steps)
    new = _window(after, steps)
    players = set().union(*_players(after)[: len(_passes(after))]) if not new else _next_players(after, steps)
    if not _readable(*old, *new):
        return ""
    for player in players:
        had: Counter[str] = Counter()
        for line in old:
            had += Counter({n: k for n, k in line["fresh"].get(player, {}).items() if n not in left_out})
        lost = _lost({"all": {player: had}}, new, "all", player)
        if lost:
            return _told(lost, before.passes)
    return ""


def _window(run: Run, steps: int) -> list[Line]:
    """The passes behind a number of steps, up to the next one."""
    found, made = [], 0
    for line in run.lines:
        made += line["what"] == "step"
        if line["what"] == "pass" and made == steps:
            found.append(line)
    return found


def _next_players(run: Run, steps: int) -> set[str]:
    events, made = _events(run), 0
    players = _players(run)
    passes = 0
    for event in events:
        if event == "pass":
            if made == steps:
                return players[passes]
            passes += 1
        else:
            made += 1
    return set()


def same_values(remedy: Remedy, before: Run, after: Run) -> int:
    """Up to which pass the values must be the same (rule 5)."""
    if remedy.kind == "clone":
        return before.passes
    if remedy.kind not in _KEEPS_VALUES:
        return 0
    pairs = list(zip(_passes(before), _passes(after), strict=False))
    for k, (then, now) in enumerate(pairs):
        if not _readable(then, now) or then["whole"] != now["whole"]:
            return k + 1
    return len(pairs)
