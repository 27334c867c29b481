# SPDX-License-Identifier: BSD-3-Clause
"""Memory that runs out: on the CPU by a limit of the process, on a GPU by one of PyTorch's."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest
import torch

START = """
    import resource, torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.Tanh()) for _ in range(LAYERS)), nn.Linear(256, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(4096, 256)
    nn.Linear(256, 1)(x[:9]).mean().backward()

    def limit(megabytes):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, -1))

"""
LEAK = """
    limit(160)
    outputs = []
    for step in range(100):
        opt.zero_grad()
        net(x).mean().backward()
        opt.step()
        outputs.append(net(x))
"""
NEEDED = """
    import secondpass
    secondpass.install()
    limit(160)
    loss = net(x).mean()
"""
COMPREHENSION = """
    def forward(batch):
        return net(batch)

    limit(160)
    kept = []
    for step in range(3):
        opt.zero_grad()
        net(x).mean().backward()
        opt.step()
        kept.append(forward(x))
    outputs = [forward(x) for _ in range(100)]
"""
ELSEWHERE = """
    limit(160)
    loss = nn.Linear(256, 1)(x[:9]).mean()
    blob = [torch.zeros(2**22) for _ in range(100)]
"""


def run(folder, *parts, layers=4, plain=False):
    text = "".join(dedent(part) for part in parts).replace("LAYERS", str(layers))
    (folder / "train.py").write_text(text)
    command = [sys.executable, "train.py"] if plain else [sys.executable, "-m", "secondpass", "run", "train.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "SECONDPASS_DEBUG": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stderr


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the process")


def test_what_no_later_pass_can_need(tmp_path):
    shown = " ".join(run(tmp_path, START, LEAK).split())
    assert "can't allocate memory" in shown
    assert "SP506 out-of-memory: Memory ran out with" in shown, shown
    assert "were built before the last step and can be needed by no later pass: `outputs` holds" in shown
    assert "Detach what goes into `outputs`" in shown
    assert "train.py:" in shown and "outputs.append(net(x))" in shown


@pytest.mark.slow
def test_what_a_comprehension_had_built_is_gone_by_then(tmp_path):
    shown = " ".join(run(tmp_path, START, COMPREHENSION).split())
    assert "SP506" in shown and "the comprehension at train.py:" in shown, shown
    # Built in a function, collected by the script: the line to change is the script's.
    assert "Detach what goes into `kept` (train.py:25)" in shown or "+ kept.append(forward(x).detach())" in shown, shown


@pytest.mark.slow
def test_what_the_pass_to_come_needs(tmp_path):
    shown = " ".join(run(tmp_path, START, NEEDED, layers=60, plain=True).split())
    assert "SP506" in shown and "the pass to come needs them" in shown, shown
    assert "secondpass.keep(net, budget=" in shown


@pytest.mark.slow
def test_memory_that_went_elsewhere_is_not_spoken_of(tmp_path):
    shown = run(tmp_path, START, ELSEWHERE)
    assert "can't allocate memory" in shown and "SP506" not in shown


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda():
    import secondpass

    net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Tanh()) for _ in range(4)))
    net.cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(16384, 1024, device="cuda")
    outputs = []
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 3 * 2**30) / total)
    try:
        with pytest.raises(torch.OutOfMemoryError) as caught, secondpass.watch(quiet=True):
            for _ in range(100):
                opt.zero_grad()
                net(x).mean().backward()
                opt.step()
                outputs.append(net(x))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "`outputs` holds" in "".join(caught.value.__notes__)
