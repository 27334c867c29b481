# SPDX-License-Identifier: BSD-3-Clause
"""How fast `secondpass check` reads: a folder cold, unchanged and after one edit; one long file; TorchFix on the same files.

    python bench/check.py [FOLDER] [--torchfix PYTHON]

FOLDER holds packages (default: those installed beside this one); whole packages are copied, in random order, until there
are 1,000 files. Packages of more files than that are left out, so that no single one is the measurement.

Times are of whole processes, wall clock and CPU (all processes together): on a busy machine the CPU time is the one to
compare. Both tools run as they do by default, one process per core, with nothing cached. TorchFix needs an older libcst than
we do, so it lives in an environment of its own: `--torchfix` names the Python of one, or else one is made.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

SAMPLE = 1000
LONG = 3000
TORCHFIX = "torchfix==0.7.0"
CHECK = (sys.executable, "-m", "secondpass", "check", "--exit-zero", "-q", "--output-format", "concise")
PROGRAMS = Path(__file__).resolve().parent.parent / "tests" / "cases"
"""Training programs of our own: every file trains."""


def timed(*command: str, cwd: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of a command."""
    # What lies in the folder must not be imported by the tools.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, capture_output=True, env=environment)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def sample(folder: Path, target: Path, count: int) -> int:
    """Copies whole packages, in random order, until there are `count` files; returns their number."""
    tops = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    random.Random(0).shuffle(tops)
    total = 0
    for top in tops:
        files = [f for f in top.rglob("*.py") if f.is_file()]
        if len(files) > count:
            continue
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


def torchfix(given: str | None, folder: Path) -> str | None:
    """The Python that has TorchFix, or None where it cannot be had."""
    if given:
        return given
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    made = subprocess.run([python, "-m", "pip", "install", "-q", TORCHFIX], capture_output=True, text=True)
    if made.returncode:
        print(f"{TORCHFIX} could not be installed: {(made.stderr.strip().splitlines() or ['?'])[-1]}")
        return None
    return python


def against(python: str, name: str, folder: Path) -> None:
    """Both tools on one folder, in turn, nothing cached."""
    count = sum(1 for _ in folder.rglob("*.py"))
    wall, cpu, _ = timed(*CHECK, "--no-cache", ".", cwd=folder)
    other_wall, other_cpu, _ = timed(python, "-m", "torchfix", "--select", "ALL", ".", cwd=folder)
    print(f"{name}: {count} files")
    print(f"  ours        {wall:7.2f} s wall {cpu:7.2f} s CPU")
    print(f"  TorchFix    {other_wall:7.2f} s wall {other_cpu:7.2f} s CPU   x{other_cpu / cpu:.1f} of ours in CPU time")


def _faulty(folder: str, names: list[str]) -> list[str]:
    """What is left out of the copy: in a case's own folder, all but its repairs."""
    case = (Path(folder) / "key.json").exists()
    return [n for n in names if case and not n.startswith("fixed")]


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast `secondpass check` reads.")
    parser.add_argument("folder", nargs="?", default=sysconfig.get_paths()["purelib"])
    parser.add_argument("--torchfix", metavar="PYTHON", help="a Python that has TorchFix installed")
    options = parser.parse_args()
    folder = Path(options.folder).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary) / "corpus"
        work.mkdir()
        files = sample(folder, work, SAMPLE)
        print(f"{files} files of {folder.name}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
        wall, cpu, memory = timed(*CHECK, ".", cwd=work)
        print(f"cold          {wall:7.2f} s wall {cpu:7.2f} s CPU   {files / wall:6.0f} files/s   peak {memory:.0f} MB")
        wall, cpu, _ = timed(*CHECK, ".", cwd=work)
        print(f"unchanged     {wall:7.2f} s wall {cpu:7.2f} s CPU")
        edited = next(f for f in sorted(work.rglob("*.py")) if ".backward(" in f.read_text("utf-8", "replace"))
        edited.write_text(edited.read_text("utf-8", "replace") + "\n# edited\n", "utf-8")
        wall, cpu, _ = timed(*CHECK, ".", cwd=work)
        print(f"one edited    {wall:7.2f} s wall {cpu:7.2f} s CPU   ({edited.relative_to(work)})")
        (Path(temporary) / "long.py").write_text(long_program(LONG))
        wall, cpu, _ = timed(*CHECK, "--no-cache", "long.py", cwd=Path(temporary))
        print(f"{LONG} lines    {wall:7.2f} s wall {cpu:7.2f} s CPU")
        python = torchfix(options.torchfix, Path(temporary) / "torchfix")
        if python:
            programs, repaired = Path(temporary) / "programs", Path(temporary) / "repaired"
            shutil.copytree(PROGRAMS, programs)
            shutil.copytree(PROGRAMS, repaired, ignore=_faulty)
            against(python, f"the files of {folder.name}", work)
            against(python, "training programs, most of them faulty", programs)
            against(python, "training programs, repaired", repaired)


if __name__ == "__main__":
    main()
