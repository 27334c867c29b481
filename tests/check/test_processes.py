# SPDX-License-Identifier: BSD-3-Clause
"""What threads and processes are started with is read with what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_frameworks import found

PROGRAM = """
    import multiprocessing
    import threading
    import torch
    import torch.multiprocessing as mp
    from torch import nn

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.made, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)

        def turn(self, rules):
            said = self.judge(self.made(torch.randn(2, 3)).relu()).pow(2).mean()
            for rule, keep in zip(rules, (True, False)):
                rule.zero_grad()
                {again}
                said.backward(retain_graph=keep)
                rule.step()

    def train(rank, make, turns):
        pair = make()
        rules = [torch.optim.SGD(n.parameters(), lr=0.1) for n in (pair.judge, pair.made)]
        for _ in range(turns):
            pair.turn(rules)

    class Worker({base}):
        def __init__(self, make):
            super().__init__()
            self.make = make

        def run(self):
            train(0, self.make, 9)

    if __name__ == "__main__":
        {start}
"""


@pytest.mark.parametrize("base", ["threading.Thread", "mp.Process", "multiprocessing.Process"])
@pytest.mark.parametrize(
    "start",
    [
        "mp.spawn(train, args=(Pair, 9), nprocs=2)",
        "mp.spawn(fn=train, nprocs=2, args=(Pair, 9), join=True)",
        "for r in range(4): mp.Process(target=train, args=(r, Pair, 9)).start()",
        "p = mp.get_context('spawn').Process(target=train, kwargs=dict(rank=0, make=Pair, turns=9)); p.start(); p.join()",
        "t = threading.Thread(target=train, args=(0, Pair, 9)); t.daemon = True; t.start()",
        "w = [Worker(Pair) for _ in range(3)]; [x.start() for x in w]; [x.join() for x in w]",
    ],
)
def test_what_is_started_is_read_with_what_it_is_given(tmp_path: Path, base: str, start: str) -> None:
    again = "said = self.judge(self.made(torch.randn(2, 3)).relu()).pow(2).mean()"
    codes = [c for c, _ in found(tmp_path, PROGRAM.format(base=base, start=start, again="pass"))]
    assert codes == ["SP201"]
    assert "SP201" not in [c for c, _ in found(tmp_path, PROGRAM.format(base=base, start=start, again=again))]


SHARED = """
    import threading
    import torch
    import torch.multiprocessing as mp

    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = []

    def turn(kept):
        loss = net(torch.randn(2, 3)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(loss)

    for _ in range(100):
        w = {kind}(target=turn, args=(kept,))
        w.start()
        w.join()
"""


@pytest.mark.parametrize(("kind", "codes"), [("threading.Thread", ["SP401"]), ("mp.Process", [])])
def test_what_threads_share_grows_and_what_processes_copy_does_not(tmp_path: Path, kind: str, codes: list[str]) -> None:
    assert [c for c, _ in found(tmp_path, SHARED.format(kind=kind))] == codes
