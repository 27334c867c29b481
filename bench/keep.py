# SPDX-License-Identifier: BSD-3-Clause
"""What keep costs in time and memory, against what people use today.

    python bench/keep.py                                  a transformer, and what else there is, on the CPU
    python bench/keep.py --model gpt2 vit                 other models: gpt2 llama vit resnet unet lstm, or all
    python bench/keep.py --device cuda --autocast --model all --only front --minutes 8.5
    python bench/keep.py --rounds 15 --out FOLDER         with the pictures

Tables go to the standard output as each is finished, progress to the standard error. `--minutes` limits the whole: every
table gets an equal share of what is left, and stops after the round that goes over it.

Every time is a ratio to `retain_graph=True` in the same process: all competitors take turns, each right after it, and
the median over the rounds counts. On the CPU the time is that of one thread's work (others may share the machine); only
one gradient per loss is measured by the clock, with as many threads as PyTorch takes by itself. `peak` is measured from
outside of keep, above what the model, its gradients and its input take: by PyTorch's allocator on a GPU, by malloc's
own count on the CPU. It includes gradients on their way. `saved` is the most that keep's ledger ever counted, as a
share of the bytes that `retain_graph=True` holds for the passes; `budget` is a share of its peak.

A competitor that fails is left out, and the progress says why. TorchJD's `jac` returns a tensor per input with the
gradients of all losses stacked: so does `grads(..., stacked=True)`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _keep_measure import Step, memory, race, say
from _keep_models import MODELS, make
from _keep_picture import picture
from _keep_task import Task

import secondpass

BASE = "retain_graph=True"
CHECKPOINT = "checkpoints"
EQUAL = "keep, at the peak of checkpoints"


def competitors(task: Task, full: int, few: bool) -> dict[str, Step]:
    steps: dict[str, Step] = {BASE: task.plain, CHECKPOINT: task.checkpointed}
    jd = task.torchjd()
    if jd is not None:
        steps["TorchJD backward"] = jd
    if not few:
        steps["save_on_cpu"] = task.on_cpu
    steps["keep, policy retain"] = task.kept(policy="retain")
    for share in (0.5, 0.3) if few else (0.75, 0.5, 0.3):
        steps[f"keep, budget {share:.0%}"] = task.kept(budget=int(full * share))
    steps["keep, policy recompute"] = task.kept(policy="recompute")
    if task.device == "cuda" and not few:  # on a CPU there is nowhere to go
        steps["keep, offload, budget 50%"] = task.kept(policy="offload", budget=int(full * 0.5))
    return steps


def reachable(task: Task, budget: int) -> int:
    """The budget, or the least that can be met."""
    try:
        task.kept(budget=budget)()
    except secondpass.BudgetError as error:
        return error.least
    return budget


def working(steps: dict[str, Step], task: Task) -> dict[str, Step]:
    """Those that can do it at all."""
    found = {}
    for name, step in steps.items():
        try:
            step()
        except (RuntimeError, ValueError, TypeError) as error:
            say(f"   {name} is left out: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
            task.alive = None
        else:
            found[name] = step
    return found


def front(args: argparse.Namespace, name: str, losses: int, few: bool, seconds: float) -> list[dict[str, Any]]:
    """Peak and time of all competitors."""
    until = time.monotonic() + seconds
    task = task_of(args, name, losses)
    say(f"   {task.subject.size}")
    full = memory({BASE: task.plain}, args.device)[BASE]
    steps = working(competitors(task, full, few), task)
    most = memory(steps, args.device)
    if CHECKPOINT in most:
        equal = working({EQUAL: task.kept(budget=reachable(task, most[CHECKPOINT]))}, task)
        most.update(memory(equal, args.device))
        steps.update(equal)
    times = race(steps, args.device, max(3, args.rounds // 2) if few else args.rounds, BASE, until=until)
    saved = saved_bytes(task)
    rows = []
    for title, step in steps.items():
        keeper = getattr(getattr(step, "call", None), "_keeper", None)
        rows.append(
            {
                "name": title,
                "losses": losses,
                "peak": most[title] / most[BASE],
                "saved": keeper.most / saved if keeper is not None and keeper.most else None,
                "budget": keeper.budget / most[BASE] if keeper is not None and keeper.budget else None,
                "time": times[title][0],
                "seconds": times[title][1],
                "bytes": most[title],
            }
        )
    return rows


def task_of(args: argparse.Namespace, name: str, losses: int, batch: int | None = None, shape: Any = None) -> Task:
    dtype = torch.bfloat16 if args.bf16 else None
    subject = make(name, args.device, batch or args.batch, shape or args.shape)
    return Task(subject, losses, dtype, args.autocast)


def saved_bytes(task: Task) -> int:
    """What retain_graph=True holds, by keep's ledger."""
    call = secondpass.keep(task.model, policy="retain")
    out = task.forward(call)
    return max(1, call.ledger().bytes + 0 * out.numel())


def one_walk(args: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    task = task_of(args, name, 2)
    steps = {"one loss": task.single, "two losses": task.summed, "two passes": task.plain}
    times = race(steps, args.device, args.rounds, "one loss", warm=1)
    return [{"name": title, "time": found[0]} for title, found in times.items()]


def rows_of_jacobian(args: argparse.Namespace, batch: int, shape: Any, losses: int = 8) -> list[dict[str, Any]]:
    """One gradient per loss of a shared trunk."""
    task = task_of(args, "transformer", losses, batch, shape)
    parameters = list(task.model.parameters())
    forward = task.all_losses

    def passes() -> None:
        found = forward()
        last = len(found) - 1
        task.alive = [torch.autograd.grad(loss, parameters, retain_graph=i < last) for i, loss in enumerate(found)]

    def ours() -> None:
        task.alive = secondpass.grads(forward(), parameters)

    def stacked() -> None:
        task.alive = secondpass.grads(forward(), parameters, stacked=True)

    base = f"{losses} passes"
    steps: dict[str, Step] = {base: passes, "secondpass.grads": ours, "secondpass.grads, stacked": stacked}
    with contextlib.suppress(ImportError):
        from torchjd.autojac import jac

        def theirs() -> None:  # stacked too
            task.alive = jac(forward(), parameters)

        steps["TorchJD jac"] = theirs
    most = memory(steps, args.device)
    # The first calls find out by the clock which way is fastest.
    rounds = max(9, args.rounds) if batch * shape[2] > 128 else 4 * args.rounds  # short ones are noisy
    times = race(steps, args.device, rounds, base, warm=12)
    return [{"name": n, "peak": most[n] / most[base], "time": times[n][0]} for n in steps]


def table(title: str, rows: list[dict[str, Any]]) -> str:
    columns = [name for name in ("peak", "saved", "budget", "time") if any(row.get(name) for row in rows)]
    lines = [f"### {title}", "", "| " + " | ".join(["", *columns]) + " |", "|" + " --- |" * (len(columns) + 1)]
    for row in rows:
        cells = ["" if row.get(name) is None else f"x{row[name]:.2f}" for name in columns]
        lines.append("| " + " | ".join([row["name"], *cells]) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--model", nargs="+", default=["transformer"], choices=[*MODELS, "all"], metavar="MODEL")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--shape", type=int, nargs=3, metavar=("DEPTH", "WIDTH", "LENGTH"), help="of the model")
    parser.add_argument("--threads", type=int, help="of PyTorch, on the CPU, for everything")
    parser.add_argument("--bf16", action="store_true", help="a model in bfloat16")
    parser.add_argument("--autocast", action="store_true", help="bfloat16 by autocast")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, help="for all tables together")
    parser.add_argument("--losses", type=int, nargs="+", default=[2, 4])
    figures = ["front", "walk", "grads"]
    parser.add_argument("--only", choices=figures, nargs="+", default=figures)
    parser.add_argument("--few", action="store_true", help="only the competitors that matter most")
    parser.add_argument("--out", type=Path, help="a folder for the pictures and the raw figures")
    args = parser.parse_args()
    started = time.monotonic()
    small = args.device == "cpu"
    threads = args.threads or torch.get_num_threads()
    if small:
        torch.set_num_threads(args.threads or 1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = True
    warnings.simplefilter("ignore")
    machine = "CPU" if small else torch.cuda.get_device_name()
    kind = ", bfloat16" if args.bf16 else ", autocast to bfloat16" if args.autocast else ""
    print(f"## {machine}, PyTorch {torch.__version__.split('+')[0]}{kind}\n", flush=True)
    found: dict[str, Any] = {}

    def publish(title: str, measure: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        say(f"-- {title}")
        rows = found[title] = measure()
        print(table(title, rows), flush=True)
        return rows

    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
    models = [name for name in MODELS if name != "transformer"] if "all" in args.model else args.model
    todo = [(name, losses) for name in models for losses in args.losses] if "front" in args.only else []
    for number, (name, losses) in enumerate(todo):
        few = args.few or losses != args.losses[0]
        left = float("inf")
        if args.minutes is not None:
            left = max(0.0, 60 * args.minutes - (time.monotonic() - started)) / (len(todo) - number)
        title = f"{name}, {losses} losses, {losses} passes"
        try:
            rows = publish(
                title, lambda name=name, losses=losses, few=few, left=left: front(args, name, losses, few, left)
            )
        except ImportError as error:
            say(f"-- {name} is left out: {error}")
            continue
        release(args.device)
        if args.out is not None:
            drawn = picture(rows, f"{machine}, {name}: {losses} passes over one forward")
            (args.out / f"keep-{args.device}-{name}-{losses}.svg").write_text(drawn)
    if "walk" in args.only:
        for name in models:
            publish(f"secondpass.backward: two losses of {name} in one walk", lambda name=name: one_walk(args, name))
    if "grads" in args.only:
        if small:
            torch.set_num_threads(threads)
        shapes = [(2, (12, 256, 128)), (2, (12, 128, 64)), (1, (12, 64, 32))]
        if not small:
            shapes = [(32, (12, 768, 1024)), (8, (12, 768, 512)), (1, (12, 768, 128))]
        for batch, shape in shapes:
            title = f"secondpass.grads: 8 gradients of a shared trunk of width {shape[1]}, {batch} x {shape[2]} tokens"
            title += f", {threads} threads" if small else ""
            publish(title, lambda batch=batch, shape=shape: rows_of_jacobian(args, batch, shape))
    if args.out is not None:
        (args.out / f"keep-{args.device}.json").write_text(json.dumps(found, indent=1) + "\n")


def release(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
