# SPDX-License-Identifier: BSD-3-Clause
"""The page's data: what a run has shown, as one JSON value. `page` writes it, `chrome` turns it into a trace.

NOTE [ The axis ]
`at` counts events in their order (`Pass.when`): a pass stands at its own number, what was saved before it a quarter before,
what was left after it a quarter behind, and a graph is built after the event before its first pass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..record import Finding, Pass, Place, Report, Step, Trace, to_plain
from ..record.event import Failure
from ..render import labels
from ..render.text import render
from .ledger_rows import container
from .page import SCHEMA

if TYPE_CHECKING:
    from .node_origin import Origin
    from .recorder import Recorder, Sample

__all__ = ["page_data"]

_SOURCES = 200_000
_ROWS = 5_000
_BESIDE = 0.25
_MET_FREED = ("backward-twice", "freed-access", "donated")
"""Failures of passes that came to history which an earlier one had freed."""


def page_data(
    report: Report, trace: Trace, program: Mapping[str, Any], recorder: Recorder | None = None
) -> dict[str, Any]:
    """The data of one run; without a recorder there is no memory and no ledger."""
    return _Data(report, trace, program, recorder).whole()


class _Data:
    def __init__(self, report: Report, trace: Trace, program: Mapping[str, Any], recorder: Recorder | None) -> None:
        self.report, self.trace, self.program, self.recorder = report, trace, program, recorder
        self.passes = trace.passes
        gaps = [after.when - before.when for before, after in pairwise(self.passes)]
        self.gap = gaps.index(max(gaps)) if gaps else 0
        """The pass before those of a long run that are not shown."""
        self.ids = {p.when: k for k, p in enumerate(self.passes)}
        events: list[Pass | Step] = sorted([*trace.passes, *trace.steps], key=lambda e: e.when)
        self.whens = [e.when for e in events]
        self.numbers = [(e.thread, e.when, e.number) for e in events if e.number is not None]
        self.names: dict[int, dict[int, str]] = {}
        for b in trace.bindings:
            names = self.names.setdefault(b.when, {})
            if b.number not in names or len(b.name) < len(names[b.number]):
                names[b.number] = b.name
        self.roots = self._roots()
        self.held = {n for h in trace.holdings for n in h.numbers}
        self.origin: Origin | None = None
        if recorder is not None:  # torch is loaded then
            from .node_origin import Origin

            self.origin = Origin(recorder.watcher)

    def whole(self) -> dict[str, Any]:
        graphs, of_pass = self._graphs()
        changed = {e["when"]: f.code for f in self.report.findings for e in f.evidence if e.get("label") == "changed"}
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "tool": {"version": self.report.tool.get("version", "")},
            "program": dict(self.program),
            "at": "order",
            "notes": self._notes(),
            "counts": {name: self.report.passes.get(key) for name, key in (("passes", "count"), ("steps", "steps"))},
            "findings": [self._finding(f) for f in self.report.findings],
            "passes": [self._pass(k, p) for k, p in enumerate(self.passes)],
            "steps": [
                {
                    "id": k,
                    "at": s.when,
                    "place": _place(s.place),
                    "optimizer": s.optimizer,
                    "moved": len(s.moved) if s.moved is not None else None,
                    "cause": changed.get(s.when),
                    **self._times(s.when),
                }
                for k, s in enumerate(self.trace.steps)
            ],
            "graphs": graphs,
            "reuses": self._reuses(of_pass),
            "memory": self._memory(graphs),
            "graph": self._graph(),
            "ledger": self._ledger(),
        }
        data["sources"] = self._sources(data)
        return data

    # -- parts -------------------------------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        notes = [*self.report.notes]
        if not self.passes:
            notes.append("The program ended before its first pass: there is nothing to show.")
        seen, made = len(self.passes), self.report.passes.get("count", 0)
        if made > seen:
            notes.append(f"The program made {made} passes; shown are the first and the last of them, {seen} in all.")
        if self.recorder is not None and len(self.recorder.rows) > _ROWS:
            notes.append(f"The ledger lists the {_ROWS:,} largest of {len(self.recorder.rows):,} saved tensors.")
        return notes

    def _finding(self, finding: Finding) -> dict[str, Any]:
        text = render(Report(findings=(finding,)), width=80, sources=self.trace.sources)
        return {**to_plain(finding), "label": text, "words": labels(finding)}

    def _pass(self, k: int, p: Pass) -> dict[str, Any]:
        leaves = sum(n < 0 for n in p.walked) if p.walked is not None else 0
        return {
            "id": k,
            "number": self._number(k),
            "kind": p.kind,
            "at": p.when,
            "place": _place(p.place),
            "iteration": _iteration(p),
            "walked": len(p.walked) if p.walked is not None else None,
            # What a pass frees before it fails is not known.
            "freed": (0 if p.retain else len(p.walked) - leaves)
            if p.walked is not None and p.outcome == "ok"
            else None,
            "retain": p.retain,
            "create": p.create,
            "outcome": p.outcome,
            "roots": self.roots[p.when],
            **self._times(p.when),
        }

    def _number(self, k: int) -> int:
        """Which pass of the run it was; of a long run the first and the last are shown."""
        missing = int(self.report.passes.get("count", 0)) - len(self.passes)
        if missing <= 0:
            return k + 1
        return k + 1 + missing * (k > self.gap)

    def _times(self, when: int) -> dict[str, Any]:
        times = self.recorder.times.get(when) if self.recorder is not None else None
        return {"seconds": [round(t, 6) for t in times]} if times is not None else {}

    def _roots(self) -> dict[int, list[str]]:
        """The names of what each pass starts from: where names were not looked at, those of the same line before."""
        found: dict[int, list[str]] = {}
        known: dict[Any, list[str]] = {}
        for p in self.passes:
            names = [name for r in p.roots or () if (name := self.names.get(p.when, {}).get(r))]
            found[p.when] = known[_line(p)] = names or known.get(_line(p), [])
        return found

    def _graphs(self) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """A graph for each root that was first sent through, one for each holder that grows; and the graph of each pass."""
        graphs: list[dict[str, Any]] = []
        of_pass: dict[int, int] = {}
        open_: dict[Any, int] = {}
        for k, p in enumerate(self.passes):
            if p.roots is not None and not any(r >= 0 for r in p.roots):
                continue  # a loss without history has no graph
            key = (p.thread, p.roots)
            known = open_.get(key) if p.roots else None
            if known is None or graphs[known]["freed"] is not None:
                known = len(graphs)
                graphs.append(self._new_graph(known, p))
                open_[key] = known
            of_pass[p.when] = known
            if not p.retain and p.outcome == "ok":
                graphs[known]["freed"], graphs[known]["freed_by"] = p.when, k
            elif p.retain and (gone := self._dropped(p)) is not None:
                graphs[known]["freed"], graphs[known]["dropped"] = gone, True
        for finding in self.report.findings:
            whens = {e["label"]: e.get("when") for e in finding.evidence if e.get("label")}
            # What was used again; where nothing was, the graph whose pass failed.
            when = next((whens[label] for label in ("freed", "before", "failed") if label in whens), None)
            if when in of_pass:
                graphs[of_pass[when]]["cause"] = finding.code
            for p in self.passes if finding.code == "SP402" else ():
                if p.retain and p.place == finding.failed and p.when in of_pass:
                    graphs[of_pass[p.when]]["cause"] = finding.code
        return [*graphs, *self._held(len(graphs))], of_pass

    def _dropped(self, p: Pass) -> float | None:
        """When a graph that a pass was asked to keep was gone: when the line of the pass had its next root, where nobody is
        known to have held it any longer."""
        following = next(
            (q for q in self.passes if q.when > p.when and _line(q) == _line(p) and q.roots != p.roots), None
        )
        next_ = following.when - _BESIDE if following is not None else None
        if (recorder := self.recorder) is not None:
            if (sample := recorder.dropped.get(p.when)) is not None:
                return min(_at(sample), next_ if next_ is not None else _at(sample))
            if p.when in recorder.retained.values() and any(_at(s) > (next_ or p.when) for s in recorder.samples):
                return None  # it was still there
        return next_ if self.held.isdisjoint(p.roots or ()) else None

    def _new_graph(self, number: int, p: Pass) -> dict[str, Any]:
        iteration = _iteration(p)
        name = f"iteration {'.'.join(map(str, iteration))}" if iteration else f"pass {self.ids[p.when] + 1}"
        roots = ", ".join(self.roots[p.when]) or ("grad()" if p.kind == "grad" else "")
        name = f"{roots}, {name}" if roots else name
        size = self.recorder.bytes_before.get(p.when) if self.recorder is not None else None
        return {
            "id": number,
            "name": name,
            "built": self._built(p) + _BESIDE,
            "place": _place(p.place),
            "iteration": iteration,
            "nodes": len(p.walked) if p.walked is not None else None,
            "bytes": size if size is not None else p.kept_bytes,
            "freed": None,
            "freed_by": None,
            "dropped": False,
            "held_by": None,
            "cause": None,
        }

    def _built(self, p: Pass) -> int:
        """The last event before the roots of a pass were built; where that is not known, the last before the pass."""
        root = max(p.roots or (), default=-1)
        before_it = [when for thread, when, number in self.numbers if thread == p.thread and number <= root]
        if root >= 0 and self.numbers:
            return max((when for when in before_it if when < p.when), default=0)
        before = bisect_left(self.whens, p.when)
        return self.whens[before - 1] if before else 0

    def _held(self, first: int) -> list[dict[str, Any]]:
        """Containers that held more history each time they were seen: they live as long as the program."""
        seen: dict[str, list[Any]] = {}
        for h in self.trace.holdings:
            seen.setdefault(h.name, []).append(h)
        causes = {_root(f.carrier.name): f.code for f in self.report.findings if f.carrier is not None}
        found: list[dict[str, Any]] = []
        for name, holdings in seen.items():
            last = holdings[-1]
            if last.count < 2 or last.count <= holdings[0].count:
                continue
            size = next((h.bytes for h in reversed(holdings) if h.bytes is not None), None)
            found.append(
                {
                    "id": first + len(found),
                    "name": f"{name}: {last.count} tensors with history",
                    "built": holdings[0].when,
                    "place": _place(last.place),
                    "iteration": None,
                    "nodes": last.nodes,
                    "bytes": size * last.count if size is not None else None,
                    "freed": None,
                    "freed_by": None,
                    "held_by": name,
                    "cause": causes.get(_root(name)),
                }
            )
        return found

    def _reuses(self, of_pass: dict[int, int]) -> list[dict[str, Any]]:
        found = []
        for finding in self.report.findings:
            labels = {e.get("label"): e.get("when") for e in finding.evidence if e.get("label")}
            old, new = labels.get("freed", labels.get("before")), labels.get("failed")
            if old in of_pass and new in self.ids:
                found.append({"pass": self.ids[new], "graph": of_pass[old], "cause": finding.code})
        return found

    def _memory(self, graphs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The samples, and before them the beginning: no graph, and nothing saved."""
        made = [self._sample(s) for s in self.recorder.samples] if self.recorder is not None else []
        begin = min((g["built"] for g in graphs), default=0)
        if made and begin < made[0]["at"]:
            empty: dict[str, Any] = {name: {} for name in ("module", "line", "op", "holder", "useless")}
            made.insert(0, {"at": begin, "bytes": 0, **empty})
        return made

    def _sample(self, sample: Sample) -> dict[str, Any]:
        by_line: dict[str, int] = {}
        module: dict[str, int] = {}
        op: dict[str, int] = {}
        holder: dict[str, int] = {}
        useless: dict[str, int] = {}
        # What is collected in one place goes together: `history["loss"]` speaks for all of `history`.
        carriers = [
            (_root(f.carrier.name) if f.code.startswith("SP4") else f.carrier.name, f.code)
            for f in self.report.findings
            if f.carrier is not None
        ]
        for (place, path, name, held_by, outdated), size in sample.parts.items():
            _add(by_line, f"{place.file}:{place.line}" if place is not None else "(not known)", size)
            _add(module, path or "(no module)", size)
            _add(op, name, size)
            _add(holder, container(held_by) or "(not known)", size)
            for carrier, code in carriers if outdated else ():
                if held_by == carrier or (held_by or "").startswith((carrier + "[", carrier + ".")):
                    _add(useless, code, size)
                    break
        over = self.trace.at(sample.when)
        for finding in self.report.findings if sample.retained and over is not None else ():
            if finding.code == "SP402" and over is not None and finding.failed == over.place:
                _add(useless, finding.code, sample.retained)
        return {
            "at": _at(sample),
            "bytes": sample.total,
            "module": module,
            "line": by_line,
            "op": op,
            "holder": holder,
            "useless": useless,
        }

    def _graph(self) -> dict[str, Any] | None:
        """The graph of the failed pass; without one, the last that was read."""
        recorder = self.recorder
        sizes: dict[int, int] = {}
        for (number, _), (_, entry) in recorder.rows.items() if recorder is not None else ():
            sizes[number] = sizes.get(number, 0) + (entry.bytes if entry.kind == "saved" else 0)
        failure = self.trace.failures[-1] if self.trace.failures else None
        if failure is not None and any(n.place is not None or n.parents for n in self.trace.nodes.values()):
            return self._failed_graph(failure, sizes)
        if recorder is None or recorder.graph is None or recorder.graph[0] not in self.ids:
            return None
        when, found = recorder.graph
        ids = {number: k for k, (number, _, _) in enumerate(found)}
        freed = not self.passes[self.ids[when]].retain
        nodes, edges = [], []
        for number, op, parents in found:
            place = self.origin.place(number) if self.origin is not None else None
            nodes.append(
                {
                    "id": ids[number],
                    "op": op,
                    "name": self._leaf(number),
                    "place": _place(place),
                    "module": self._module(number),
                    "statement": self._statement(place),
                    "bytes": sizes.get(number),
                    "state": "leaf" if number < 0 else "freed" if freed else "alive",
                    "boundary": False,
                    "carrier": None,
                }
            )
            edges += [[ids[number], ids[p]] for p in parents if p in ids]
        return {"pass": self.ids[when], "nodes": nodes, "edges": edges} if nodes else None

    def _failed_graph(self, failure: Failure, sizes: dict[int, int]) -> dict[str, Any] | None:
        trace, when = self.trace, failure.when
        reached = list(dict.fromkeys(n.number for n in trace.history(*(_roots(trace, when)))))
        ids = {number: k for k, number in enumerate(reached)}
        names = self._carriers()
        nodes: list[dict[str, Any]] = []
        edges: list[list[int]] = []
        boundary: set[int] = set()
        freed = {number for number in reached if trace.nodes[number].freed}
        if failure.kind not in _MET_FREED:  # what this very pass freed before it failed was alive when it began
            before = [p.walked or () for p in self.passes if p.frees and p.outcome == "ok" and p.when < when]
            freed.intersection_update(n for walked in before for n in walked)
        for number in reached:
            parents = [p for p in trace.nodes[number].parents or () if p in ids]
            edges += [[ids[number], ids[p]] for p in parents]
            if number not in freed:
                boundary.update(p for p in parents if p in freed)
        for number in reached:
            node = trace.nodes[number]
            nodes.append(
                {
                    "id": ids[number],
                    "op": node.op,
                    "name": node.leaf or None,
                    "place": _place(node.place),
                    "module": self._module(number),
                    "statement": self._statement(node.place),
                    "bytes": sizes.get(number),
                    "state": "leaf" if number < 0 else "freed" if number in freed else "alive",
                    "boundary": number in boundary,
                    "failed": number == failure.node,
                    "carrier": names.get(number),
                }
            )
        return {"pass": self.ids.get(when), "nodes": nodes, "edges": edges} if nodes else None

    def _carriers(self) -> dict[int, str]:
        """The nodes that the carriers of the findings led to when the pass that freed them began."""
        found = {}
        for finding in self.report.findings:
            freed = {e.get("when") for e in finding.evidence if e.get("label") in ("freed", "before")}
            for b in self.trace.bindings if finding.carrier is not None else ():
                if b.when in freed and finding.carrier is not None and b.name == finding.carrier.name:
                    found[b.number] = b.name
        return found

    def _module(self, number: int) -> str | None:
        return self.origin.module(number) if self.origin is not None else None

    def _leaf(self, number: int) -> str | None:
        node = self.trace.nodes.get(number) if number < 0 else None
        return node.leaf or None if node is not None else None

    def _statement(self, place: Place | None) -> str | None:
        if place is None:
            return None
        lines = self.trace.sources.get(place.file, "").splitlines()
        return lines[place.line - 1].strip() if 1 <= place.line <= len(lines) else None

    def _ledger(self) -> list[dict[str, Any]]:
        recorder = self.recorder
        if recorder is None or self.origin is None:
            return []
        largest = sorted(recorder.rows.items(), key=lambda item: -item[1][1].bytes)[:_ROWS]
        rows = self.origin.rows(entry for _, (_, entry) in largest)
        found = []
        for (key, (when, _)), row in zip(largest, rows, strict=True):
            by = recorder.freed_by.get(key)
            found.append(
                {
                    "bytes": row.bytes,
                    "kind": row.kind,
                    "dtype": row.dtype,
                    "shape": list(row.shape),
                    "device": row.device,
                    "op": row.op,
                    "slot": row.slot,
                    "place": _place(row.place),
                    "module": row.module,
                    "iteration": list(row.iteration) if row.iteration is not None else None,
                    "state": "freed" if key in recorder.freed_by else "alive",
                    "freed_by": self.ids.get(by) if by is not None else None,
                    "holder": row.holder,
                    "region": row.region,
                    "at": when - _BESIDE,
                }
            )
        return found

    def _sources(self, data: dict[str, Any]) -> dict[str, str]:
        """The texts of the files that have places in the data, the program's own first."""
        files = dict.fromkeys(_files(data))
        found, left = {}, _SOURCES
        for file in sorted(files, key=lambda f: f != self.program.get("file")):
            text = self.trace.sources.get(file)
            if text is not None and len(text) <= left:
                found[file] = text
                left -= len(text)
        return found


def _root(name: str) -> str:
    return name.partition("[")[0].partition(".")[0]


def _at(sample: Sample) -> float:
    return sample.when + (_BESIDE if sample.after else -_BESIDE)


def _line(p: Pass) -> tuple[Any, ...]:
    """What passes of one line have in common."""
    return p.thread, p.place, p.kind, len(p.roots or ())


def _roots(trace: Trace, when: int) -> tuple[int, ...]:
    found = trace.at(when)
    return (found.roots or ()) if found is not None else ()


def _iteration(p: Pass) -> list[int] | None:
    """The counts of the running loops, outermost first; else how often the program came to this place."""
    if p.loops:
        return [loop.count for loop in reversed(p.loops)]
    return [p.iteration] if p.iteration is not None else None


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    found = {"file": place.file, "line": place.line, "function": place.function}
    return found if place.cell is None else {**found, "cell": place.cell}


def _add(to: dict[str, int], key: str, size: int) -> None:
    to[key] = to.get(key, 0) + size


def _files(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        if isinstance(value.get("file"), str) and "line" in value:
            yield value["file"]
        for inner in value.values():
            yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)
