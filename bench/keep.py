# SPDX-License-Identifier: BSD-3-Clause
"""What keep costs in time and memory, against what people use today.

    python bench/keep.py                            the figures on the CPU
    python bench/keep.py --device cuda              the same on a GPU, where there is a host to offload to
    python bench/keep.py --rounds 15 --out FOLDER   as published, with the pictures

Tables go to the standard output as each is finished, progress to the standard error.

Every time is a ratio to `retain_graph=True` in the same process: all competitors take turns, each right after it, and
the median over the rounds counts. On the CPU the time is that of one thread's work (others may share the machine); only
one gradient per loss is measured by the clock, with as many threads as PyTorch takes by itself. `peak` is measured from
outside of keep, above what the model, its gradients and its input take: by PyTorch's allocator on a GPU, by malloc's
own count on the CPU. It includes gradients on their way. `buffers` is the most that keep's ledger ever counted, as a
share of the bytes that `retain_graph=True` holds for the passes.

TorchJD's `jac` returns a tensor per input with the gradients of all losses stacked: so does `grads(..., stacked=True)`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _keep_measure import Step, memory, race, say
from _keep_picture import picture
from _keep_task import Task

import secondpass

BASE = "retain_graph=True"


def competitors(task: Task, full: int, few: bool) -> dict[str, Step]:
    steps: dict[str, Step] = {BASE: task.plain, "checkpoint per block": task.checkpointed}
    jd = task.torchjd()
    if jd is not None:
        steps["TorchJD backward"] = jd
    if not few or task.device == "cuda":
        steps["save_on_cpu"] = task.on_cpu
    steps["keep, policy retain"] = task.kept(policy="retain")
    for share in (0.5, 0.3) if few else (0.75, 0.5, 0.3, 0.19):  # the last one is the peak of checkpoints
        step = task.kept(budget=int(full * share))
        with contextlib.suppress(secondpass.keep.BudgetError):  # small models have few blocks
            step()
            steps[f"keep, budget {share:.0%}"] = step
    try:
        task.kept(budget=1)()
    except secondpass.keep.BudgetError as error:
        steps["keep, least budget"] = task.kept(budget=error.least)
    steps["keep, policy recompute"] = task.kept(policy="recompute")
    if task.device == "cuda":  # on a CPU there is nowhere to go
        if not few:
            steps["keep, policy offload"] = task.kept(policy="offload")
        steps["keep, offload, budget 50%"] = task.kept(policy="offload", budget=int(full * 0.5))
    return steps


def front(args: argparse.Namespace, losses: int, few: bool = False) -> list[dict[str, Any]]:
    """Peak and time of all competitors."""
    task = Task(args, losses)
    full = memory({BASE: task.plain}, args.device)[BASE]
    steps = competitors(task, full, few)
    most = memory(steps, args.device)
    times = race(steps, args.device, max(3, args.rounds // 2) if few else args.rounds, BASE)
    buffers = saved_bytes(task)
    rows = []
    for name, step in steps.items():
        keeper = getattr(getattr(step, "call", None), "_keeper", None)
        rows.append(
            {
                "name": name,
                "losses": losses,
                "peak": most[name] / most[BASE],
                "buffers": keeper.most / buffers if keeper is not None and keeper.most else None,
                "budget": keeper.budget / most[BASE] if keeper is not None and keeper.budget else None,
                "time": times[name][0],
                "seconds": times[name][1],
                "bytes": most[name],
            }
        )
    return rows


def saved_bytes(task: Task) -> int:
    """What retain_graph=True holds, by keep's ledger."""
    call = secondpass.keep(task.model, policy="retain")
    out = call(task.x)
    return call.ledger().bytes + 0 * out.numel()


def one_walk(args: argparse.Namespace) -> list[dict[str, Any]]:
    task = Task(args, 2)
    steps = {"one loss": task.single, "two losses": task.summed, "two passes": task.plain}
    times = race(steps, args.device, args.rounds, "one loss", warm=1)
    return [{"name": name, "time": found[0]} for name, found in times.items()]


def rows_of_jacobian(args: argparse.Namespace, losses: int = 8) -> list[dict[str, Any]]:
    """One gradient per loss of a shared trunk."""
    task = Task(args, losses)
    parameters = list(task.model.parameters())

    def forward() -> list[torch.Tensor]:
        out = task.model(task.x)
        return [head(out).square().mean() for head in task.heads]

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
    rounds = max(9, args.rounds) if args.batch * args.length > 128 else 4 * args.rounds  # short ones are noisy
    times = race(steps, args.device, rounds, base, warm=12)
    return [{"name": n, "peak": most[n] / most[base], "time": times[n][0]} for n in steps]


def table(title: str, rows: list[dict[str, Any]]) -> str:
    columns = [name for name in ("peak", "buffers", "budget", "time") if any(row.get(name) for row in rows)]
    lines = [f"### {title}", "", "| " + " | ".join(["", *columns]) + " |", "|" + " --- |" * (len(columns) + 1)]
    for row in rows:
        cells = ["" if row.get(name) is None else f"x{row[name]:.2f}" for name in columns]
        lines.append("| " + " | ".join([row["name"], *cells]) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, help="of PyTorch, on the CPU, for everything")
    parser.add_argument("--bf16", action="store_true", help="a model in bfloat16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--losses", type=int, nargs="+", default=[2, 4])
    figures = ["front", "walk", "grads"]
    parser.add_argument("--only", choices=figures, nargs="+", default=figures)
    parser.add_argument("--few", action="store_true", help="only the competitors that matter most")
    parser.add_argument("--out", type=Path, help="a folder for the pictures and the raw figures")
    args = parser.parse_args()
    small = args.device == "cpu"
    args.width = args.width or (256 if small else 768)
    args.heads = args.heads or max(1, args.width // 64)
    args.batch = args.batch or (2 if small else 32)
    args.length = args.length or (128 if small else 1024)
    threads = args.threads or torch.get_num_threads()
    if small:
        torch.set_num_threads(args.threads or 1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = True
    warnings.simplefilter("ignore")
    name = "CPU" if small else torch.cuda.get_device_name()
    size = f"{args.layers} layers of width {args.width}, {args.batch} x {args.length} tokens"
    version = torch.__version__.split("+")[0]
    print(f"## {name}, PyTorch {version}: {size}{', bfloat16' if args.bf16 else ''}\n", flush=True)
    found: dict[str, Any] = {}

    def publish(title: str, measure: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        say(f"-- {title}")
        rows = found[title] = measure()
        print(table(title, rows), flush=True)
        return rows

    tag = f"{args.device}{'-bf16' if args.bf16 else ''}{'' if args.width in (256, 768) else f'-{args.width}'}"
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
    for number, losses in enumerate(args.losses if "front" in args.only else []):
        few = args.few or number > 0
        rows = publish(f"{losses} losses, {losses} passes", lambda n=losses, few=few: front(args, n, few))
        if args.out is not None:
            drawn = picture(rows, f"{name}: {losses} passes over one forward")
            (args.out / f"keep-{tag}-{losses}.svg").write_text(drawn)
    if "walk" in args.only:
        publish("secondpass.backward: two losses in one walk", lambda: one_walk(args))
    if "grads" in args.only:
        if small:
            torch.set_num_threads(threads)
        smaller = [(128, 2, 64), (64, 1, 32)] if small else [(args.width, 8, 512), (args.width, 1, 128)]
        shapes = [(args.width, args.batch, args.length), *smaller]
        for width, batch, length in shapes:
            args.width, args.heads, args.batch, args.length = width, max(1, width // 64), batch, length
            title = f"secondpass.grads: 8 gradients of a shared trunk of width {width}, {batch} x {length} tokens"
            title += f", {threads} threads" if small else ""
            publish(title, lambda: rows_of_jacobian(args))
    if args.out is not None:
        (args.out / f"keep-{tag}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
