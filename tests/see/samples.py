# SPDX-License-Identifier: BSD-3-Clause
"""Data for the page, as `secondpass.see` writes them: a true story, a hostile one, a large one, and nothing.

`python -m tests.see.samples FOLDER` writes a page of each, to look at.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

Data = dict[str, Any]

FILE = "examples/carried_state.py"
SOURCE = Path(__file__).parents[2] / FILE
HOSTILE = '</script><img src=x onerror="window.hacked=1"><!--&lt;b&gt;\'`${1}`\u2028\u202e\U0001f525'


def place(line: int, file: str = FILE, function: str = "<module>") -> Data:
    return {"file": file, "line": line, "function": function}


def empty() -> Data:
    return {"tool": {"version": "0.2.0"}, "program": {"file": "train.py", "args": [], "status": 0}}


def story(iterations: int = 9) -> Data:
    """examples/carried_state.py, had it kept its losses and had the reuse come late: a leak, then the failure."""
    built, freed, kept = place(18), place(21), place(23)
    at = 0.0
    passes: list[Data] = []
    steps: list[Data] = []
    graphs: list[Data] = []
    memory: list[Data] = []
    ledger: list[Data] = []
    for number in range(1, iterations + 1):
        last = number == iterations
        graphs.append(
            {
                "id": len(graphs),
                "name": f"iteration {number}",
                "built": at,
                "place": built,
                "iteration": [number],
                "nodes": 361,
                "bytes": 48_200,
                "freed": None if last else at + 2,
                "freed_by": None if last else len(passes),
                "held_by": "hidden" if last else None,
                "cause": "SP103" if number >= iterations - 1 else None,
            }
        )
        held = 9_600 * (number - 1)
        for moment, size in ((at, 2_000), (at + 1, 24_100), (at + 1.9, 48_200), (at + 2.1, 48_200 if last else 600)):
            memory.append(
                {
                    "at": moment,
                    "bytes": size + held,
                    "module": {
                        "cell": round(size * 0.8),
                        "readout": round(size * 0.15),
                        "(no module)": round(size * 0.05) + held,
                    },
                    "line": {f"{FILE}:18": round(size * 0.8), f"{FILE}:19": round(size * 0.2) + held},
                    "op": {
                        "MulBackward0": round(size * 0.4),
                        "AddmmBackward0": round(size * 0.35),
                        "PowBackward0": held,
                    },
                    "holder": {"hidden": size, "losses": held},
                    "useless": {"SP401": held} if held else {},
                }
            )
        passes.append(
            {
                "id": len(passes),
                "kind": "backward",
                "at": at + 2,
                "place": freed,
                "iteration": [number],
                "walked": 361,
                "freed": 0 if last else 361,
                "retain": False,
                "create": False,
                "outcome": "failed" if last else "ok",
                "roots": ["loss"],
            }
        )
        if number % 3 == 0:
            graphs.append(
                {
                    "id": len(graphs),
                    "name": f"losses[{number // 3 - 1}]",
                    "built": at + 1.5,
                    "place": place(19),
                    "iteration": [number],
                    "nodes": 20,
                    "bytes": 9_600,
                    "freed": None,
                    "freed_by": None,
                    "held_by": f"losses[{number // 3 - 1}]",
                    "cause": "SP401",
                }
            )
        if not last:
            steps.append(
                {"id": len(steps), "at": at + 3, "place": place(22), "optimizer": "Adam 'optimizer'", "moved": 6}
            )
        at += 4
    for number in range(1, iterations + 1):
        for op, slot, shape, line, module in (
            ("AddmmBackward0", "_saved_mat1", [1, 24], 18, "cell"),
            ("MulBackward0", "_saved_other", [1, 24], 18, "cell"),
            ("PowBackward0", "_saved_self", [], 19, None),
            ("AddmmBackward0", "_saved_mat2", [24, 72], 18, "cell"),
        ):
            parameter = slot == "_saved_mat2"
            ledger.append(
                {
                    "bytes": 4 * (shape[0] * shape[-1] if shape else 1) * (1 if parameter else 20),
                    "kind": "parameter" if parameter else "saved",
                    "dtype": "float32",
                    "shape": shape,
                    "device": "cpu",
                    "op": op,
                    "slot": slot,
                    "place": place(line),
                    "module": module,
                    "iteration": [number],
                    "state": "alive" if number == iterations or line == 19 else "freed",
                    "freed_by": None if number == iterations or line == 19 else number - 1,
                    "holder": "hidden" if number == iterations else f"losses[{number}]" if line == 19 else None,
                    "region": None,
                    "at": 4.0 * number,
                }
            )
    text = SOURCE.read_text(encoding="utf-8")
    diff = (
        f"--- a/{FILE}\n+++ b/{FILE}\n@@ -20,4 +20,5 @@\n     optimizer.zero_grad()\n     loss.backward()\n"
        "     optimizer.step()\n+    hidden = hidden.detach()\n"
        '     print(f"steps {start:3d}-{start + 19:3d}  loss {loss.item() / 20:.4f}")\n'
    )
    now = iterations
    return {
        "tool": {"version": "0.2.0"},
        "program": {
            "file": FILE,
            "args": [],
            "status": 1,
            "torch": "2.13.0",
            "device": "cpu",
            "error": "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors"
            " after they have already been freed).",
            "rank": None,
        },
        "sources": {FILE: text},
        "findings": [
            {
                "code": "SP103",
                "cause": "carried-state",
                "severity": "error",
                "message": f"`hidden` carries the history of iteration {now - 1} into iteration {now}, and a backward had"
                " already freed it.",
                "carrier": {"name": "hidden", "kind": "global"},
                "built": built,
                "freed": freed,
                "used": freed,
                "failed": freed,
                "facts": {"built_iteration": now - 1, "freed_iteration": now - 1, "used_iteration": now},
                "evidence": [
                    {
                        "what": "pass",
                        "text": "loss.backward()",
                        "place": freed,
                        "iteration": now - 1,
                        "label": "freed",
                        "when": 1,
                    },
                    {"what": "step", "text": "optimizer.step()", "place": place(22), "label": "", "when": 2},
                    {
                        "what": "pass",
                        "text": "loss.backward()",
                        "place": freed,
                        "iteration": now,
                        "label": "failed",
                        "when": 3,
                    },
                    {
                        "what": "node",
                        "text": "MulBackward0 is the first operation whose saved tensors are gone",
                        "place": built,
                    },
                ],
                "remedies": [
                    {
                        "kind": "detach",
                        "title": "detach `hidden` where it goes from one iteration to the next",
                        "safe": True,
                        "why": "The next iteration needs its values, not its history: that part has been through backward."
                        " `retain_graph=True` would walk all earlier iterations again in every backward, until a step that"
                        " has changed the weights makes it fail.",
                        "diff": diff,
                        "proof": {
                            "status": "proven",
                            "detail": "30 passes and 30 steps; all 6 parameters are still trained.",
                        },
                    },
                    {
                        "kind": "recompute",
                        "title": "start every sequence from zeros",
                        "safe": False,
                        "why": "Right only if the sequences are independent of each other.",
                        "diff": diff.replace("hidden.detach()", "torch.zeros(1, 24)"),
                        "proof": None,
                    },
                ],
                "label": f"SP103 carried-state: `hidden` carries the history of iteration {now - 1} into iteration {now}.\n"
                f"    --> {FILE}:21",
            },
            {
                "code": "SP401",
                "cause": "graph-leak",
                "severity": "warning",
                "message": "`losses` keeps the graph of every third iteration: 9.4 KiB more each time.",
                "carrier": {"name": "losses", "kind": "global"},
                "built": None,
                "freed": None,
                "used": None,
                "failed": kept,
                "evidence": [{"what": "bytes", "text": "3 graphs were alive at the end, held by `losses`"}],
                "remedies": [
                    {
                        "kind": "item",
                        "title": "store the number, not the tensor",
                        "safe": True,
                        "why": "A tensor with history keeps all that it was computed from.",
                        "diff": "",
                        "proof": None,
                    }
                ],
                "label": "",
            },
        ],
        "passes": passes,
        "steps": steps,
        "graphs": graphs,
        "reuses": [
            {
                "pass": passes[-1]["id"],
                "graph": next(g["id"] for g in graphs if g["name"] == f"iteration {now - 1}"),
                "cause": "SP103",
            }
        ],
        "at": "order",
        "memory": memory,
        "graph": _recurrent(passes[-1]["id"]),
        "ledger": ledger,
    }


def _recurrent(failing: int, steps: int = 20) -> Data:
    """The graph behind two sequences of a GRU cell: the new one leads into the freed one through `hidden`."""
    nodes: list[Data] = []
    edges: list[list[int]] = []

    def node(op: str, line: int | None, statement: str | None, module: str | None, state: str) -> int:
        nodes.append(
            {
                "id": len(nodes),
                "op": op,
                "place": None if line is None else place(line),
                "module": module,
                "statement": statement,
                "bytes": 96 if state == "alive" else 0,
                "state": state,
                "boundary": False,
                "carrier": None,
            }
        )
        return len(nodes) - 1

    cell = "hidden = cell(wave[t].view(1, 1), hidden)"
    error = "loss = loss + (readout(hidden).squeeze() - wave[t + 1]) ** 2"
    leaves = {
        name: node("AccumulateGrad", None, None, module, "leaf")
        for name, module in (("ih", "cell"), ("hh", "cell"), ("out", "readout"))
    }
    hidden: int | None = None
    for state in ("freed", "alive"):
        loss: int | None = None
        for step in range(steps):
            new = state == "alive" and step == 0
            mul = node("MulBackward0", 18, cell, "cell", state)
            gates = node("AddmmBackward0", 18, cell, "cell", state)
            tanh = node("TanhBackward0", 18, cell, "cell", state)
            add = node("AddBackward0", 18, cell, "cell", state)
            edges += [[add, mul], [mul, tanh], [tanh, gates], [gates, leaves["ih"]], [gates, leaves["hh"]]]
            if hidden is not None:
                edges += [[mul, hidden], [gates, hidden]]
                if new:
                    nodes[hidden].update(boundary=True, carrier="hidden")
            hidden = add
            linear = node("AddmmBackward0", 19, error, "readout", state)
            power = node("PowBackward0", 19, error, None, state)
            total = node("AddBackward0", 19, error, None, state)
            edges += [[linear, hidden], [linear, leaves["out"]], [power, linear], [total, power]]
            if loss is not None:
                edges.append([total, loss])
            loss = total
    # From the root towards the leaves, as a walk of the engine meets them.
    order = {node["id"]: len(nodes) - 1 - index for index, node in enumerate(nodes)}
    for item in nodes:
        item["id"] = order[item["id"]]
    return {"pass": failing, "nodes": nodes[::-1], "edges": [[order[a], order[b]] for a, b in edges]}


def hostile() -> Data:
    """Every string of the story is an attack."""

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {(HOSTILE + k if key in ("module", "line", "op", "useless") and isinstance(value, dict) else k): poison(v, k)
                    for k, v in value.items()}  # fmt: skip
        if isinstance(value, list):
            return [poison(item, key) for item in value]
        if isinstance(value, str) and key not in (
            "kind",
            "what",
            "state",
            "at",
            "outcome",
            "severity",
            "status",
            "code",
            "cause",
        ):
            return HOSTILE + value
        return value

    data = poison(story())
    data["sources"] = {HOSTILE + FILE: HOSTILE + "\n" * 17 + HOSTILE + SOURCE.read_text(encoding="utf-8")}
    return data


def large(nodes: int = 20_000, passes: int = 1_000, seed: int = 0) -> Data:
    """A deep network, a thousand iterations with a leak, and a reuse at the end."""
    rng = random.Random(seed)
    data = story()
    lines = [f"    x = layer_{i}(x)  # line {i + 1}" for i in range(400)]
    source = "big/train.py"
    layers, ops = (
        48,
        ["AddmmBackward0", "ViewBackward0", "SoftmaxBackward0", "NativeLayerNormBackward0", "GeluBackward0"],
    )
    parts = ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"]
    graph_nodes: list[Data] = []
    edges: list[list[int]] = []
    half = nodes // 2
    for index in range(nodes):
        layer = (index % half) * layers // half
        part = rng.choice(parts)
        leaf = index % 9 == 8
        graph_nodes.append(
            {
                "id": index,
                "op": "AccumulateGrad" if leaf else rng.choice(ops),
                "place": place(1 + layer * 8 + parts.index(part), source, "forward"),
                "module": f"transformer.h.{layer}.{part}",
                "statement": f"x = self.{part}(x)",
                "bytes": 4096,
                "state": "leaf" if leaf else "freed" if index >= half else "alive",
                "boundary": index == half,
                "carrier": "memory[-1]" if index == half else None,
            }
        )
    inner = [node["id"] for node in graph_nodes if node["state"] != "leaf"]
    for position, (before, after) in enumerate(pairwise(inner)):
        edges.append([before, after])
        if rng.random() < 0.3:
            edges.append([before, inner[min(len(inner) - 1, position + rng.randrange(2, 30))]])
    for node in graph_nodes:
        if node["state"] == "leaf":
            edges.append([node["id"] - 1, node["id"]])
    at = 0.0
    data.update(passes=[], steps=[], graphs=[], memory=[], sources={source: "\n".join(lines)})
    held = 0
    for number in range(passes):
        leak = number % 10 == 0
        failed = number == passes - 1
        data["graphs"].append(
            {
                "id": number,
                "name": f"iteration {number + 1}",
                "built": at,
                "place": place(rng.randrange(1, 400), source),
                "iteration": [number + 1],
                "nodes": nodes,
                "bytes": 10**8,
                "freed": None if leak else at + 0.02,
                "freed_by": None if leak else number,
                "held_by": f"history[{number // 10}]" if leak else None,
                "cause": "SP401" if leak else None,
            }
        )
        data["passes"].append(
            {
                "id": number,
                "kind": "backward",
                "at": at + 0.02,
                "place": place(399, source),
                "iteration": [number + 1],
                "walked": nodes,
                "freed": nodes,
                "retain": False,
                "create": False,
                "outcome": "failed" if failed else "ok",
                "roots": ["loss"],
            }
        )
        data["steps"].append(
            {"id": number, "at": at + 0.03, "place": place(400, source), "optimizer": "AdamW 'opt'", "moved": 148}
        )
        held += 10**8 if leak else 0
        data["memory"].append(
            {
                "at": at,
                "bytes": held + 10**8,
                "module": {f"transformer.h.{i}": (held + 10**8) // layers for i in range(layers)},
                "line": {f"{source}:{i}": (held + 10**8) // 40 for i in range(40)},
                "op": {op: (held + 10**8) // len(ops) for op in ops},
                "useless": {"SP401": held},
            }
        )
        at += 0.05
    data["at"] = "seconds"
    data["reuses"] = [{"pass": passes - 1, "graph": passes - 2, "cause": "SP103"}]
    data["graph"] = {"pass": passes - 1, "nodes": graph_nodes, "edges": edges}
    data["ledger"] = [
        {
            "bytes": rng.randrange(1, 10**7),
            "kind": rng.choice(["saved", "saved", "saved", "parameter", "input", "buffer"]),
            "dtype": "bfloat16",
            "shape": [8, 1024, rng.choice([768, 2304, 3072])],
            "device": "cuda:0",
            "op": rng.choice(ops),
            "slot": "_saved_self",
            "place": place(rng.randrange(1, 400), source),
            "module": f"transformer.h.{rng.randrange(layers)}.{rng.choice(parts)}",
            "iteration": [rng.randrange(1, passes)],
            "state": rng.choice(["alive", "freed"]),
            "freed_by": None,
            "holder": f"history[{rng.randrange(100)}]",
            "region": rng.choice([None, None, None, "checkpoint"]),
            "at": 0.0,
        }
        for _ in range(nodes)
    ]
    return data


SAMPLES = {"story": story, "hostile": hostile, "large": large, "empty": empty}


def main() -> None:
    from secondpass.see import page

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SAMPLES.items():
        data = make()
        print(
            page.write(data, folder / f"{name}.html"),
            dict(Counter({k: len(v) for k, v in data.items() if isinstance(v, list)})),
        )


if __name__ == "__main__":
    main()
