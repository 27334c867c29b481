# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of one kept step goes: the host's, the GPU's kernels, and what waits.

    python bench/keep_profile.py --device cuda --autocast --model gpt2 vit

For `retain_graph=True`, checkpoints and keep: the time by the clock, the time that the host needs until everything is
started, the time that kernels take, how many there are, and how often the host waits for the GPU. Then the functions in
which a kept step differs most from one with `retain_graph=True`.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from typing import Any

import torch
from _keep_measure import Step
from _keep_models import MODELS, make
from _keep_task import Task
from torch.profiler import ProfilerActivity, profile

_WAITS = ("Synchronize", "cudaMemcpy", "cudaMalloc", "cudaFree", "aten::item", "aten::_local_scalar_dense")


def clocks(step: Step, device: str, rounds: int = 3) -> tuple[float, float]:
    """Milliseconds: until all is started, and until all is done."""
    found = []
    for _ in range(rounds):
        sync(device)
        start = time.perf_counter()
        step()
        started = time.perf_counter()
        sync(device)
        found.append(((started - start) * 1e3, (time.perf_counter() - start) * 1e3))
    return min(found, key=lambda pair: pair[1])


def sync(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def events(step: Step, device: str) -> dict[str, tuple[int, float]]:
    """Of each kernel, function and call of the driver: how often, and milliseconds (on a GPU those of kernels)."""
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=kinds) as found:
        step()
        sync(device)
    rows: dict[str, tuple[int, float]] = {}
    for event in found.key_averages():
        own = event.self_device_time_total if device == "cuda" else event.self_cpu_time_total
        rows[event.key] = (event.count, own / 1e3)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--model", nargs="+", default=["gpt2"], choices=list(MODELS))
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--rows", type=int, default=14)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
    for name in args.model:
        task = Task(make(name, args.device), 2, None, args.autocast)
        steps: dict[str, Any] = {
            "retain_graph=True": task.plain,
            "checkpoints": task.checkpointed,
            "recompute": task.kept(policy="recompute"),
            "50% of full": task.kept(budget="50% of full"),
        }
        base: dict[str, tuple[int, float]] = {}
        for title, step in steps.items():
            for _ in range(4):
                step()
            gc.collect()
            host, whole = clocks(step, args.device)
            rows = events(step, args.device)
            waits = {key: count for key, (count, _) in rows.items() if any(word in key for word in _WAITS)}
            busy = sum(time for _, time in rows.values())
            print(f"{name}, {title}: {whole:.1f} ms, host {host:.1f} ms, kernels {busy:.1f} ms, waits {waits}")
            call = getattr(step, "call", None)
            if call is not None:
                lines = [(line.recomputed, round(line.recompute_seconds * 1e3, 1)) for line in call.ledger().passes]
                print(
                    f"   operations run again, and the host's ms for them: {lines[-2:]}; {str(call.plan()).splitlines()[0]}"
                )
                more = {
                    key: (n - base.get(key, (0, 0.0))[0], t - base.get(key, (0, 0.0))[1])
                    for key, (n, t) in rows.items()
                }
                for key in sorted(more, key=lambda key: -more[key][1])[: args.rows]:
                    print(f"   {more[key][1]:+8.2f} ms {more[key][0]:+6d} times  {key[:110]}")
            elif not base:
                base = rows
        del task, steps
        gc.collect()


if __name__ == "__main__":
    main()
