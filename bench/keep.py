# SPDX-License-Identifier: BSD-3-Clause
"""What keep costs in time and memory, against what people use today.

    python bench/keep.py                  the figures on the CPU
    python bench/keep.py --device cuda    the same and the offload figures on a GPU

Every time is a ratio to `retain_graph=True` in the same process: all competitors take turns, and the median over the
rounds counts. On the CPU the time is that of one thread's work (others may share the machine). `peak` is measured from
outside of keep, above what the model, its gradients and its input take: by PyTorch's allocator on a GPU, by malloc's
own count on the CPU. It includes gradients on their way. `buffers` is the most that keep's ledger ever counted, as a
share of the bytes that `retain_graph=True` holds for the passes.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import checkpoint

import secondpass

Step = Callable[[], None]


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, words: int = 256, dropout: float = 0.1) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.checkpointed = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.norm(x)


# Measuring -----------------------------------------------------------------------------------------------------------


class _Malloc(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def _allocated() -> int:
    info = _mallinfo()
    return info.uordblks + info.hblkhd


with contextlib.suppress(AttributeError, OSError):
    _mallinfo = ctypes.CDLL(None).mallinfo2
    _mallinfo.restype = _Malloc


@contextlib.contextmanager
def peak(device: str) -> Iterator[list[int]]:
    """The most bytes allocated meanwhile, above what was allocated before."""
    gc.collect()
    found = [0]
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield found
        torch.cuda.synchronize()
        found[0] = torch.cuda.max_memory_allocated() - before
        return
    done, before = threading.Event(), _allocated()

    def sample() -> None:
        while not done.is_set():
            found[0] = max(found[0], _allocated() - before)
            time.sleep(0.0001)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def race(steps: dict[str, Step], device: str, rounds: int, base: str) -> dict[str, tuple[float, float]]:
    """For each competitor the median ratio to the base, and the median seconds. All take turns."""
    for step in steps.values():
        step()
        step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = clock(device)
            steps[name]()
            times[name].append(clock(device) - start)
    return {
        name: (
            statistics.median(a / b for a, b in zip(found, times[base], strict=True)),
            statistics.median(found),
        )
        for name, found in times.items()
    }


def memory(steps: dict[str, Step], device: str, repeats: int = 2) -> dict[str, int]:
    """The peak of two steps in a row, measured while the names of the loop stay alive."""
    found = {}
    for name, step in steps.items():
        step()
        tries = []
        for _ in range(1 if device == "cuda" else repeats):
            with peak(device) as most:
                step()
                step()
            tries.append(most[0])
        found[name] = max(tries)
    return found


# Competitors ---------------------------------------------------------------------------------------------------------


class Task:
    """One model, its input, and several losses of one output."""

    def __init__(self, args: argparse.Namespace, losses: int) -> None:
        torch.manual_seed(0)
        self.device, self.losses = args.device, losses
        dtype = torch.bfloat16 if args.bf16 else torch.float32
        torch.set_default_dtype(dtype)
        with torch.device(args.device):
            self.model = Transformer(args.layers, args.width, args.heads, dropout=args.dropout)
            self.heads = nn.ModuleList(nn.Linear(args.width, 1) for _ in range(losses))
        torch.set_default_dtype(torch.float32)
        self.x = torch.randint(0, 256, (args.batch, args.length), device=args.device)
        self.parameters = [*self.model.parameters(), *self.heads.parameters()]
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-6)
        for value in self.parameters:
            value.grad = torch.zeros_like(value)
        self.alive: Any = None  # what a loop keeps alive into its next turn

    def step(self, call: Callable[..., Any], retain: bool, around: Any = contextlib.nullcontext) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        with around():
            out = call(self.x)
        found = []
        for number, head in enumerate(self.heads):
            loss = head(out).square().mean()
            loss.backward(retain_graph=retain and number < self.losses - 1)
            found.append(loss)
        self.optimizer.step()
        self.alive = (out, found)

    def plain(self) -> None:
        self.step(self.model, True)

    def checkpointed(self) -> None:
        self.model.checkpointed = True
        try:
            self.step(self.model, True)
        finally:
            self.model.checkpointed = False

    def on_cpu(self) -> None:
        self.step(self.model, True, lambda: save_on_cpu(pin_memory=self.device == "cuda"))

    def summed(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        out = self.model(self.x)
        found = [head(out).square().mean() for head in self.heads]
        secondpass.backward(*found)
        self.optimizer.step()
        self.alive = (out, found)

    def single(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        out = self.model(self.x)
        loss = self.heads[0](out).square().mean()
        loss.backward()
        self.optimizer.step()
        self.alive = (out, loss)

    def kept(self, **options: Any) -> Step:
        call = secondpass.keep(self.model, units=Block, **options)

        def step() -> None:
            self.step(call, False)

        step.call = call
        return step

    def torchjd(self) -> Step | None:
        try:
            from torchjd.aggregation import Sum
            from torchjd.autojac import backward
        except ImportError:
            return None
        try:
            from torchjd.autojac import jac_to_grad
        except ImportError:
            jac_to_grad = None

        def step() -> None:
            self.optimizer.zero_grad(set_to_none=False)
            out = self.model(self.x)
            found = [head(out).square().mean() for head in self.heads]
            if jac_to_grad is None:
                backward(found, Sum(), inputs=self.parameters)
            else:
                backward(found, inputs=self.parameters)
                jac_to_grad(self.parameters, Sum())
            self.optimizer.step()
            self.alive = (out, found)

        return step


def competitors(task: Task, full: int, offload: bool) -> dict[str, Step]:
    steps: dict[str, Step] = {"retain_graph=True": task.plain}
    if offload:
        steps["save_on_cpu"] = task.on_cpu
        steps["keep, offload, budget 50%"] = task.kept(policy="offload", budget=int(full * 0.5))
        steps["keep, budget 50%"] = task.kept(budget=int(full * 0.5))
        return steps
    steps["checkpoint per block"] = task.checkpointed
    steps["save_on_cpu"] = task.on_cpu
    jd = task.torchjd()
    if jd is not None:
        steps["TorchJD backward"] = jd
    steps["keep, policy retain"] = task.kept(policy="retain")
    for share in (0.75, 0.5, 0.3, 0.2):
        step = task.kept(budget=int(full * share))
        with contextlib.suppress(secondpass.keep.BudgetError):  # small models have few blocks
            step()
            steps[f"keep, budget {share:.0%}"] = step
    steps["keep, policy recompute"] = task.kept(policy="recompute")
    if task.device == "cuda":  # on a CPU there is nowhere to go
        steps["keep, policy offload"] = task.kept(policy="offload")
        steps["keep, offload, budget 50%"] = task.kept(policy="offload", budget=int(full * 0.5))
    return steps


# Figures -------------------------------------------------------------------------------------------------------------


def front(args: argparse.Namespace, losses: int, offload: bool = False) -> list[dict[str, Any]]:
    """Peak and time of all competitors."""
    task = Task(args, losses)
    full = memory({"": task.plain}, args.device)[""]
    steps = competitors(task, full, offload)
    most = memory(steps, args.device)
    times = race(steps, args.device, args.rounds, "retain_graph=True")
    buffers = saved_bytes(task)
    rows = []
    for name, step in steps.items():
        call = getattr(step, "call", None)
        rows.append(
            {
                "name": name,
                "losses": losses,
                "time": times[name][0],
                "seconds": times[name][1],
                "peak": most[name] / most["retain_graph=True"],
                "bytes": most[name],
                "buffers": call._keeper.most / buffers if call is not None and call._keeper.most else None,
                "budget": call._keeper.budget / full if call is not None and call._keeper.budget else None,
            }
        )
    return rows


def saved_bytes(task: Task) -> int:
    """What retain_graph=True holds, by keep's ledger."""
    call = secondpass.keep(task.model, policy="retain")
    out = call(task.x)
    return call.ledger().bytes + 0 * out.numel()


def one_walk(args: argparse.Namespace) -> dict[str, float]:
    task = Task(args, 2)
    steps = {"one loss": task.single, "two losses": task.summed, "two passes": task.plain}
    return {name: found[0] for name, found in race(steps, args.device, args.rounds, "one loss").items()}


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

    steps: dict[str, Step] = {f"{losses} passes": passes, "secondpass.grads": ours}
    with contextlib.suppress(ImportError):
        from torchjd.autojac import jac

        def theirs() -> None:
            task.alive = jac(forward(), parameters)

        steps["TorchJD jac"] = theirs
    most = memory(steps, args.device, 1)
    times = race(steps, args.device, max(3, args.rounds // 3), f"{losses} passes")
    return [{"name": n, "time": times[n][0], "peak": most[n] / most[f"{losses} passes"]} for n in steps]


def table(title: str, rows: list[dict[str, Any]], columns: list[str]) -> str:
    lines = [f"### {title}", "", "| " + " | ".join(["", *columns]) + " |", "|" + " --- |" * (len(columns) + 1)]
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column)
            cells.append("" if value is None else f"x{value:.2f}" if isinstance(value, float) else str(value))
        lines.append("| " + " | ".join([row["name"], *cells]) + " |")
    return "\n".join([*lines, ""])


def picture(rows: list[dict[str, Any]], title: str) -> str:
    """The front as SVG: peak to the right, time upwards, nearer to the corner is better."""
    width, height, left, bottom = 760, 420, 60, 370
    across = max(1.05, *(row["peak"] for row in rows))
    shown = [min(row["time"], 3.0) for row in rows]
    up = max(1.6, *shown) - 0.8

    def spot(row: dict[str, Any]) -> tuple[float, float]:
        x = left + row["peak"] / across * (width - left - 230)
        return x, bottom - (min(row["time"], 3.0) - 0.8) / up * (bottom - 40)

    def text(x: float, y: float, words: str, anchor: str = "start", color: str = "#333") -> str:
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{words}</text>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" ',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(left, 22, title),
        f'<path d="M{left} 30V{bottom}H{width - 200}" fill="none" stroke="#333"/>',
        text((left + width - 200) / 2, height - 12, "peak, as a share of retain_graph=True", "middle"),
        f'<g transform="rotate(-90 16 200)">{text(16, 200, "time against retain_graph=True", "middle")}</g>',
    ]
    for tick in (0.25, 0.5, 0.75, 1.0):
        x = left + tick / across * (width - left - 230)
        parts += [f'<path d="M{x:.0f} {bottom}v4" stroke="#333"/>', text(x, bottom + 17, f"{tick:.2f}", "middle")]
    for number in range(8, int((up + 0.8) * 10) + 1, 2):
        y = bottom - (number / 10 - 0.8) / up * (bottom - 40)
        parts.append(f'<path d="M{left - 4} {y:.0f}h4" stroke="#333"/>')
        parts.append(text(left - 8, y + 4, f"{number / 10:.1f}", "end"))
    kept = sorted((row for row in rows if row["name"].startswith("keep") and "offload" not in row["name"]), key=spot)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(spot, kept))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1769aa" stroke-dasharray="4 3"/>')
    taken: list[tuple[float, float]] = []
    for row in sorted(rows, key=spot):
        x, y = spot(row)
        color = "#1769aa" if row["name"].startswith("keep") else "#c0392b"
        words = row["name"] + (f" (x{row['time']:.1f})" if row["time"] > 3 else "")
        label = y + 4
        while any(abs(label - other) < 13 and abs(x - place) < 190 for place, other in taken):
            label -= 13
        taken.append((x, label))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>', text(x + 8, label, words, color=color)]
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--bf16", action="store_true", help="a model in bfloat16")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--losses", type=int, nargs="+", default=[2, 4])
    figures = ["front", "walk", "grads", "offload"]
    parser.add_argument("--only", choices=figures, nargs="+", default=figures[:3])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "benchmarks")
    args = parser.parse_args()
    small = args.device == "cpu"
    args.width = args.width or (256 if small else 768)
    args.heads = args.heads or (4 if small else 12)
    args.batch = args.batch or (4 if small else 32)
    args.length = args.length or (128 if small else 1024)
    if small:
        torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if not small:
        torch.backends.cuda.matmul.allow_tf32 = True
    name = "CPU" if small else torch.cuda.get_device_name()
    size = f"{args.layers} layers of width {args.width}, {args.batch} x {args.length} tokens"
    version = torch.__version__.split("+")[0]
    parts = [f"## {name}, PyTorch {version}: {size}{', bfloat16' if args.bf16 else ''}", ""]
    tag = f"{args.device}{'-bf16' if args.bf16 else ''}{'' if args.width in (256, 768) else f'-{args.width}'}"
    args.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    if "front" in args.only:
        for losses in args.losses:
            rows = front(args, losses)
            found[f"front {losses}"] = rows
            parts.append(table(f"{losses} losses, {losses} passes", rows, ["peak", "buffers", "budget", "time"]))
            drawn = picture(rows, f"{name}: {losses} passes over one forward")
            (args.out / f"keep-{tag}-{losses}.svg").write_text(drawn)
            print(parts[-1], flush=True)
    if "offload" in args.only:
        found["offload"] = front(args, 2, offload=True)
        parts.append(table("Offload: 2 losses, 2 passes", found["offload"], ["peak", "buffers", "budget", "time"]))
        print(parts[-1], flush=True)
    if "walk" in args.only:
        found["walk"] = one_walk(args)
        rows = [{"name": n, "time": t} for n, t in found["walk"].items()]
        parts.append(table("secondpass.backward: two losses in one walk", rows, ["time"]))
        print(parts[-1], flush=True)
    if "grads" in args.only:
        found["grads"] = rows_of_jacobian(args)
        parts.append(table("secondpass.grads: 8 gradients of a shared trunk", found["grads"], ["peak", "time"]))
        print(parts[-1], flush=True)
    (args.out / f"keep-{tag}.md").write_text("\n".join(parts))
    (args.out / f"keep-{tag}.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    sys.exit(main())
