# SPDX-License-Identifier: BSD-3-Clause
"""How fast `secondpass check` reads: a folder cold, warm and after one edit; one long file; TorchFix on the same files.

    python bench/check.py [FOLDER]      default: the packages installed beside this one

Times are of whole processes, wall clock and CPU (all processes together): on a busy machine the CPU time is the one to
compare. TorchFix is timed where it is installed (extra `bench`), on a sample of the files, one process each, interleaved.
"""

from __future__ import annotations

import importlib.util
import os
import random
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

SAMPLE = 1000
LONG = 3000


def timed(*command: str, cwd: str | None = None) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, capture_output=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def sample(folder: Path, target: Path, count: int) -> int:
    """Copies whole projects, in random order, until there are `count` files; returns their number."""
    tops = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    random.Random(0).shuffle(tops)
    total = 0
    for top in tops:
        files = [f for f in top.rglob("*.py") if f.is_file()]
        for file in files:
            place = target / file.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        total += len(files)
        if total >= count:
            break
    return total


def long_program(lines: int) -> str:
    """A program of many training functions and networks."""
    block = """
class Net{n}(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def train{n}(epochs=3):
    net = Net{n}()
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(epochs):
        for x in torch.randn(20, 6, 4):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
"""
    head = "import torch\nfrom torch import nn\n"
    count = lines // block.count("\n")
    return head + "".join(block.format(n=n) for n in range(count)) + "".join(f"train{n}()\n" for n in range(count))


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_paths()["purelib"]).resolve()
    check = (sys.executable, "-m", "secondpass", "check", "--exit-zero", "-q", "--output-format", "concise")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary) / "corpus"
        work.mkdir()
        files = sample(folder, work, SAMPLE)
        print(f"{files} files of {folder.name}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
        wall, cpu, memory = timed(*check, ".", cwd=str(work))
        print(f"cold          {wall:7.2f} s wall {cpu:7.2f} s CPU   {files / wall:6.0f} files/s   peak {memory:.0f} MB")
        cold = cpu
        wall, cpu, _ = timed(*check, ".", cwd=str(work))
        print(f"unchanged     {wall:7.2f} s wall {cpu:7.2f} s CPU")
        edited = next(f for f in sorted(work.rglob("*.py")) if ".backward(" in f.read_text("utf-8", "replace"))
        edited.write_text(edited.read_text("utf-8", "replace") + "\n# edited\n", "utf-8")
        wall, cpu, _ = timed(*check, ".", cwd=str(work))
        print(f"one file edited {wall:5.2f} s wall {cpu:7.2f} s CPU")
        long = Path(temporary) / "long.py"
        long.write_text(long_program(LONG))
        wall, cpu, _ = timed(*check, "--no-cache", str(long))
        print(f"{LONG} lines    {wall:7.2f} s wall {cpu:7.2f} s CPU")
        if importlib.util.find_spec("torchfix") is None:
            print("TorchFix is not installed: pip install 'secondpass[bench]'")
            return
        wall, cpu, _ = timed(sys.executable, "-m", "torchfix", "--select", "ALL", ".", cwd=str(work))
        print(f"TorchFix      {wall:7.2f} s wall {cpu:7.2f} s CPU   x{cpu / cold:.1f} of ours, cold")


if __name__ == "__main__":
    main()
