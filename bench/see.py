# SPDX-License-Identifier: BSD-3-Clause
"""What looking costs: one ledger, by the number of nodes, and a run that writes a page.

    python bench/see.py                    on the CPU
    python bench/see.py --device cuda      on a GPU, and the allocator's count beside the ledger's

The forward of GPT-2-small is that of Transformers, where it is installed.

On the CPU the time is that of the process, so that other programs on the machine do not count. Targets: 0.3 s for 20,000
nodes; 50 ms for a forward of GPT-2-small; a run that writes a page within x1.05 of one that does not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import secondpass

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from tests.see.models import MODELS, gpt  # noqa: E402


def best(function: Callable[[], object], clock: Callable[[], float], rounds: int = 7) -> float:
    """The median time of a call; the first is not counted."""
    function()
    times = []
    for _ in range(rounds):
        began = clock()
        function()
        times.append(clock() - began)
    return statistics.median(times)


def chain(length: int, device: str) -> torch.Tensor:
    """A graph in which every node has saved something."""
    h = torch.zeros(8, device=device, requires_grad=True)
    for _ in range(length):
        h = h.exp()
    return h


def ledgers(device: str) -> None:
    clock = time.process_time if device == "cpu" else time.perf_counter
    for length in (1_000, 5_000, 20_000):
        h = chain(length - 1, device)
        print(
            f"ledger of a chain of {length:6,} nodes     {1000 * best(lambda h=h: secondpass.ledger(h), clock):7.1f} ms"
        )
    del h
    loss = (gpt(device, 12, 12) if device == "cuda" else gpt(device, 1, 12))()
    nodes = secondpass.ledger(loss).nodes
    print(
        f"ledger of a GPT of 12 layers, {nodes:5,} nodes  {1000 * best(lambda: secondpass.ledger(loss), clock):7.1f} ms"
    )
    loss = None
    if (forward := gpt2(device)) is not None:
        loss = forward()
        ledger = secondpass.ledger(loss)
        print(
            f"ledger of GPT-2-small, {ledger.nodes:5,} nodes         "
            f"{1000 * best(lambda: secondpass.ledger(loss), clock):7.1f} ms   ({ledger.total / 2**20:,.0f} MiB saved)"
        )
    print(f"ledger of every live tensor               {1000 * best(secondpass.ledger, clock):7.1f} ms")


def gpt2(device: str) -> Callable[[], torch.Tensor] | None:
    """The forward of GPT-2-small, without its trained weights."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        return None
    model = GPT2LMHeadModel(GPT2Config(use_cache=False)).to(device)
    tokens = torch.randint(50257, (8, 512) if device == "cuda" else (1, 64), device=device)
    return lambda: model(tokens, labels=tokens).loss


def requested() -> int:
    return int(torch.cuda.memory_stats()["requested_bytes.all.current"])


def allocator() -> None:
    """The ledger's total beside the allocator's: both in bytes, what was asked for. Its blocks may be up to 1 MiB larger each."""
    forwards = {name: make("cuda", 8) for name, make in MODELS.items()}
    if (forward := gpt2("cuda")) is not None:
        forwards["gpt-2"] = forward
    for name, forward in forwards.items():
        forward().backward()
        before, blocks = requested(), torch.cuda.memory_allocated()
        loss = forward()
        real, ledger = requested() - before, secondpass.ledger(loss).total
        blocks = torch.cuda.memory_allocated() - blocks
        print(f"{name:8} allocator {real:13,}  ledger {ledger:13,}  x{ledger / real:.4f}   (in blocks of {blocks:13,})")
        del loss


PROGRAM = """
import torch, time
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(6)), nn.Linear(256, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(256, 256)
began = time.process_time()
for step in range(300):
    opt.zero_grad()
    net(x).square().mean().backward()
    opt.step()
print(time.process_time() - began)
"""


def pages(rounds: int = 5) -> None:
    """The loop's own time under `run`, with and without a page, and under `see`: the ways take turns."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(PROGRAM)
        ways = {"run": ["run"], "run --page": ["run", "--page", "page.html"], "see": ["see", "--out", "page.html"]}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, words in ways.items():
                command = [sys.executable, "-m", "secondpass", *words, "train.py"]
                environment = {**os.environ, "OMP_NUM_THREADS": "1"}
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
                times[name].append(float(done.stdout.split()[0]))
    plain = statistics.median(times["run"])
    for name in ways:
        print(
            f"{name:12} {statistics.median(times[name]):6.2f} s   x{statistics.median(times[name]) / plain:.3f} of run"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--no-pages", action="store_true", help="only the ledgers")
    options = parser.parse_args()
    torch.manual_seed(0)
    ledgers(options.device)
    if options.device == "cuda":
        allocator()
    if not options.no_pages:
        pages()


if __name__ == "__main__":
    main()
