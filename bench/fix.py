# SPDX-License-Identifier: BSD-3-Clause
"""What a proof costs: the repaired program in a mirror of its folder, under watch, against a plain run of it.

The two take turns, as fresh processes; medians. The figure is (proof - one start of Python) / plain run, and the target
is 1.5: a proof runs the program once and adds little to it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.edit.patch import apply_edits
from secondpass.remedies.find.project import Project
from secondpass.remedies.prove.judge import prove
from secondpass.remedies.prove.run import Command, run

TARGET = 1.5
PROGRAM = """\
import torch
from torch import nn

torch.manual_seed(0)
rnn, head = nn.GRU(32, {width}, batch_first=True), nn.Linear({width}, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-3)
state = None
for i in range({steps}):
    out, state = rnn(torch.randn(16, 20, 32), state)
    loss = head(out).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
"""
SIZES = {"small steps": (16, 300), "large steps": (256, 60)}


def timed(call: list[str], folder: Path) -> float:
    began = perf_counter()
    subprocess.run(call, cwd=folder, check=True, capture_output=True)
    return perf_counter() - began


def measure(width: int, steps: int, rounds: int) -> dict[str, float]:
    """Medians over interleaved rounds, in seconds."""
    times: dict[str, list[float]] = {"start": [], "plain": [], "proof": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = PROGRAM.format(width=width, steps=steps)
        (folder / "main.py").write_text(text)
        place = Place("main.py", 12, "<module>")
        remedy = Remedy("detach", "detach", target="state", place=place)
        finding = Finding(
            "SP103", "carried-state", "error", "", place, Carrier("state"), place, place, place, (), (remedy,)
        )
        found = candidates(finding, Project(folder))[0]
        fixed = apply_edits(text, list(found.edits))
        (folder / "fixed.py").write_text(fixed)
        command = Command("main.py", cwd=folder)
        before = run(command)
        for _ in range(rounds):
            times["start"].append(timed([sys.executable, "-c", "pass"], folder))
            times["plain"].append(timed([sys.executable, "fixed.py"], folder))
            began = perf_counter()
            verdict = prove(finding, found, before, command, {"main.py": fixed})
            times["proof"].append(perf_counter() - began)
            assert verdict.proven, verdict.proof
    return {what: statistics.median(values) for what, values in times.items()}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print("| program | plain run | proof | (proof - start of Python) / plain |")
    print("| --- | --- | --- | --- |")
    for label, (width, steps) in SIZES.items():
        t = measure(width, steps, options.rounds)
        ratio = (t["proof"] - t["start"]) / t["plain"]
        print(f"| {label} | {t['plain']:.2f} s | {t['proof']:.2f} s | **x{ratio:.2f}** (<= {TARGET}) |", flush=True)


if __name__ == "__main__":
    main()
