# SPDX-License-Identifier: BSD-3-Clause
"""What watching costs.

    python bench/watch.py                    the figures on the CPU
    python bench/watch.py --device cuda      those on a GPU
    python bench/watch.py --write            and put them into docs/benchmarks/watch.md

Each figure is a ratio to the plain program in the same process. The ways take turns in every round, in changing order; the
median over the rounds counts. On the CPU the time is that of the thread, so that other programs on the machine do not count;
on a GPU it is that of the clock. The first 128 steps, in which gradients are followed and names looked at, are not in the
ratios.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from secondpass.session.session import Session
from secondpass.watcher.loader import compile_marked
from secondpass.watcher.log import Log

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks" / "watch.md"
WARM = 128
Train = Callable[[int], None]
# name, steps in a round, rounds, targets (always on, with lines)
CPU = [
    ("mlp", "tiny MLP", 1000, 60, (1.05, 1.06)),
    ("lstm", "LSTMCell loop", 12, 160, (1.01, 1.03)),
    ("transformer", "small transformer", 3, 60, (1.01, 1.02)),
]
CUDA = [
    ("gpt2_small", "GPT-2-small", 5, 60, (1.005, 1.02)),
    ("tiny_gpt", "launch-bound tiny GPT", 40, 40, (1.02, 1.06)),
]


def load(log: Log | None) -> ModuleType:
    """The programs, with marks if there is a log."""
    file = HERE / "_watch_programs.py"
    module = ModuleType("programs")
    module.__file__ = str(file)
    if log is None:
        code = compile(file.read_bytes(), str(file), "exec")
    else:
        code = compile_marked(file.read_bytes(), str(file), log)
        vars(module).update(log.names)
    exec(code, vars(module))
    return module


class Watched:
    """A way to run that can be switched on and off; time while it is off does not count as the program's."""

    def __init__(self, log: Log | None) -> None:
        self.session = Session(HERE, log)
        self.paused = time.perf_counter()

    def __enter__(self) -> None:
        self.session.watcher.looks.time.skip(time.perf_counter() - self.paused)
        self.session.start()

    def __exit__(self, *rest: Any) -> None:
        self.session.stop()
        self.paused = time.perf_counter()


class Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *rest: Any) -> None: ...


def seconds(train: Train, steps: int, device: str) -> float:
    if device == "cpu":
        began = time.thread_time()
        train(steps)
        return (time.thread_time() - began) / steps
    torch.cuda.synchronize()
    began = time.perf_counter()
    train(steps)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / steps


def measure(name: str, steps: int, rounds: int, device: str) -> dict[str, Any]:
    """Ratios of one program."""
    log = Log()
    plain, marked = load(None), load(log)
    on, lines = Watched(None), Watched(log)
    ways: dict[str, tuple[Train, Any]] = {}
    for way, module, around in (
        ("plain", plain, Nothing()), ("plain again", plain, Nothing()), ("always on", plain, on),
        ("with lines", marked, lines), ("anomaly mode", plain, None),
    ):  # fmt: skip
        torch.manual_seed(0)
        ways[way] = getattr(module, name)(device), around
    for train, around in ways.values():
        if around is not None:
            with around:
                seconds(train, WARM, device)
    times: dict[str, list[float]] = {way: [] for way in ways}
    order = [w for w in ways if w != "anomaly mode"]
    gc.collect()
    gc.disable()
    for r in range(rounds):
        for way in order[r % len(order) :] + order[: r % len(order)]:
            train, around = ways[way]
            with around:
                times[way].append(seconds(train, steps, device))
        if r % 10 == 0:
            gc.collect()
            with torch.autograd.set_detect_anomaly(True, check_nan=True):
                times["anomaly mode"].append(seconds(ways["anomaly mode"][0], max(1, steps // 3), device))
    gc.enable()
    base = statistics.median(times["plain"])
    found: dict[str, Any] = {"plain": base}
    for way in ("plain again", "always on", "with lines"):
        found[way] = statistics.median(a / b for a, b in zip(times[way], times["plain"], strict=True))
    found["anomaly mode"] = statistics.median(times["anomaly mode"]) / base
    return found


def million(nodes: int = 1_000_000) -> tuple[int, float, float]:
    """Seconds to fail in a graph of a million nodes: plain and explained."""
    found = []
    for watched in (False, True):
        x = w = torch.ones(1, requires_grad=True)
        for _ in range(nodes):
            x = x * w
        session = Session(HERE)
        if watched:
            session.start()
        x.backward()
        began = time.perf_counter()
        try:
            x.backward()
        except RuntimeError as error:
            found.append(time.perf_counter() - began)
            assert not watched or error.__notes__
        session.stop()
        del x
    return nodes, *found


def table(device: str) -> list[str]:
    head = [
        "| step | plain | plain again | always on | with lines | anomaly mode |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows = []
    for name, title, steps, rounds, targets in CUDA if device == "cuda" else CPU:
        f = measure(name, steps, rounds, device)
        rows.append(
            f"| {title} | {1e3 * f['plain']:.2f} ms | x{f['plain again']:.3f} | **x{f['always on']:.3f}** (<= {targets[0]}) "
            f"| **x{f['with lines']:.3f}** (<= {targets[1]}) | x{f['anomaly mode']:.2f} |"
        )
        print(rows[-1], flush=True)
    return [*head, *rows]


def machine(device: str) -> str:
    chip = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, 1 torch thread"
    return f"{chip}; PyTorch {torch.__version__}, Python {platform.python_version()}."


def write(section: str, lines: list[str]) -> None:
    """Puts a section into the page; the others stay."""
    begin, end = f"<!-- {section} -->", f"<!-- end {section} -->"
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/watch.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine(options.device), file=sys.stderr)
    lines = [machine(options.device), "", *table(options.device)]
    if options.device == "cpu":
        nodes, plain, explained = million()
        lines += [
            "",
            f"Failing in a graph of {nodes:,} nodes: {plain:.2f} s plain, {explained:.2f} s with the explanation (<= 3 s more).",
        ]
    print("\n".join(lines))
    if options.write:
        write(options.device, lines)


if __name__ == "__main__":
    main()
