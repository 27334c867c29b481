# SPDX-License-Identifier: BSD-3-Clause
"""Runs many random programs on PyTorch and on the specification, reads them with `check`, and prints how many differ."""

from __future__ import annotations

import argparse
import sys
import time

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from . import reading
from .lockstep import LEFT_OUT, compare
from .programs import Choice, programs


def main() -> int:
    """The proof."""
    parser = argparse.ArgumentParser(prog="python -m tests.prove", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many programs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which programs (default: %(default)s)")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ran, statements, different, skipped = 0, 0, 0, 0
    wrong, failing, told = 0, 0, 0
    began = time.monotonic()

    @seeded(options.seed)
    @settings(
        max_examples=options.count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def run(program: list[Choice]) -> None:
        nonlocal ran, statements, different, skipped, wrong, failing, told
        lines, found = compare(program)
        ran, statements = ran + 1, statements + len(lines)
        if ran % 1000 == 0:
            print(f"{ran} ...", file=sys.stderr, flush=True)
        if found == LEFT_OUT:
            skipped += 1
        elif found:
            different += 1
            if different <= options.show:
                print("\n".join(lines), f"  -> {found}", sep="\n", end="\n\n", flush=True)
        verdict = reading.compare(program)
        failing, told = failing + verdict.failing, told + verdict.told
        if verdict.wrong:
            wrong += 1
            if wrong <= options.show:
                print("\n".join(verdict.shown), f"  -> {verdict.wrong}", sep="\n", end="\n\n", flush=True)

    run()
    if skipped:
        print(f"{skipped} programs end early in a PyTorch error about storage: see LEFT_OUT in lockstep.py")
    print(f"{ran} programs, {statements} statements, {time.monotonic() - began:.0f} s: {different} differences")
    print(f"read by check: {wrong} untrue, {told} of {failing} failing statements told")
    return 1 if different or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
