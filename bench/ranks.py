# SPDX-License-Identifier: BSD-3-Clause
"""What watching costs a program of several ranks (gloo, CPU), and what merging costs one that fails.

    python bench/ranks.py            2 and 4 ranks
    python bench/ranks.py --ranks 2  2 only

A step's figure is a ratio to the plain step in the same processes. The two ways take turns in every round, in an order that
is the same on all ranks; the median over the rounds counts, of the time of the thread (waiting for others is not in it).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WARM = 160
# name, steps in a round, rounds, target
PROGRAMS = [("mlp", "tiny MLP", 500, 15, 1.05), ("transformer", "small transformer", 12, 11, 1.02)]
FAILS_WITHIN = 2.0


def rank_main(out: str) -> None:
    """One rank."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    from secondpass.session.session import Session

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found: dict[str, float] = {}
    for name, _, steps, rounds, _ in PROGRAMS:
        torch.manual_seed(0)
        if name == "mlp":
            net: nn.Module = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
            x = torch.randn(8, 16)
        else:
            layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
            net = nn.TransformerEncoder(layer, 4)
            x = torch.randn(8, 32, 128)
        model = DistributedDataParallel(net)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

        def train(count: int, model: Any = model, optimizer: Any = optimizer, x: Any = x) -> float:
            began = time.thread_time()
            for _ in range(count):
                optimizer.zero_grad()
                loss = model(x).pow(2).mean()
                loss.backward()
                optimizer.step()
            return time.thread_time() - began

        session = Session(HERE)
        session.start()
        train(WARM)  # gradients are followed and names looked at in these
        session.stop()
        paused = time.perf_counter()
        order, ratios = random.Random(0), []
        for _ in range(rounds):
            times = {}
            for way in order.sample(["plain", "watched"], 2):
                if way == "watched":  # time while it is off does not count as the program's
                    session.watcher.looks.time.skip(time.perf_counter() - paused)
                    session.start()
                times[way] = train(steps)
                if way == "watched":
                    session.stop()
                    paused = time.perf_counter()
            ratios.append(times["watched"] / times["plain"])
        found[name] = statistics.median(ratios)
    if dist.get_rank() == 0:
        Path(out).write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def steps_of(ranks: int) -> dict[str, float]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out.json")
        env = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        words = [sys.executable, __file__, "--out", out]
        running = [subprocess.Popen(words, env={**env, "RANK": str(r), "OMP_NUM_THREADS": "1"}) for r in range(ranks)]
        for process in running:
            if process.wait():
                raise SystemExit("a rank has failed")
        found: dict[str, float] = json.loads(Path(out).read_text(encoding="utf-8"))
        return found


def merging(ranks: int, silent: int) -> float:
    """Seconds from the first rank's failure to the last one's end, when all but `silent` of them fail alike."""
    from secondpass.record import Finding, Place
    from secondpass.session.ranks import Ranks

    one = Finding("SP103", "carried-state", "error", "...", failed=Place("train.py", 7, "main"))
    with tempfile.TemporaryDirectory() as folder:

        def rank(number: int) -> None:
            mine = Ranks(number, ranks, Path(folder, "run"))
            mine.join()
            while len(list(Path(folder, "run").glob("rank-*.json"))) < ranks:
                time.sleep(0.01)
            if number >= ranks - silent:
                time.sleep(60)
            mine.settle((one,), "RuntimeError", lambda found: None)
            mine.leave()

        fork = multiprocessing.get_context("fork")
        processes = [fork.Process(target=rank, args=(k,)) for k in range(ranks)]
        for process in processes:
            process.start()
        began = time.perf_counter()
        for process in processes[: ranks - silent]:
            process.join()
        took = time.perf_counter() - began
        for process in processes:
            process.kill()
        return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, choices=(2, 4), help="only so many ranks")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.out:
        rank_main(given.out)
        return
    for ranks in [given.ranks] if given.ranks else [2, 4]:
        found = steps_of(ranks)
        for name, title, _, _, target in PROGRAMS:
            mark = "" if found[name] <= target else "  MISSED"
            print(f"{ranks} ranks  {title:20} x{found[name]:.3f}  (target x{target:.2f}){mark}")
        for silent, title in ((0, "all fail"), (1, "one hangs")):
            took = merging(ranks, silent)
            mark = "" if took <= FAILS_WITHIN else "  MISSED"
            print(f"{ranks} ranks  merging, {title:11} {took:5.2f} s (target {FAILS_WITHIN:.0f} s){mark}")


if __name__ == "__main__":
    main()
