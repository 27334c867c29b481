# SPDX-License-Identifier: BSD-3-Clause
"""Programs that use much of PyTorch at once: the same output to the last bit, and not a word from us."""

from __future__ import annotations

import re
import textwrap

import pytest

from .plain import both

PROGRAMS = {
    "networks_one_after_another": """
        import torch
        from torch import nn
        def fit(steps):
            net = nn.ModuleDict({"used": nn.Linear(3, 1), "spare": nn.Linear(3, 1)})
            adam = torch.optim.Adam(net.parameters(), lr=0.1)
            for _ in range(steps):
                adam.zero_grad()
                net["used"](torch.randn(4, 3)).pow(2).mean().backward()
                adam.step()
        def sensitivity():
            net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
            net(torch.randn(4, 3)).sum().backward()
            return net[0].weight.grad.norm()
        torch.manual_seed(0)
        fit(6)
        fit(6)
        for _ in range(3):
            print(sensitivity())
    """,
    "environment": """
        import os, sys
        assert "torch" not in sys.modules
        os.environ["OMP_NUM_THREADS"] = "1"
        os.environ["MKL_NUM_THREADS"] = "1"
        import torch
        print(torch.get_num_threads())
    """,
    "workers": """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Squares(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                x = torch.tensor(float(i), requires_grad=True)
                (x * x).backward()
                return x.grad
        def make(batch):
            return torch.stack(batch)
        if __name__ == "__main__":
            for context in ("fork", "spawn"):
                for batch in DataLoader(Squares(), batch_size=4, num_workers=1, multiprocessing_context=context, collate_fn=make):
                    print(context, batch)
    """,
    "compiled": """
        import torch
        @torch.compile(fullgraph=True, backend="eager")
        def f(x):
            y = x.sin()
            for _ in range(3):
                if y.shape[0] > 1:
                    y = y * 2
            return helper(y)
        def helper(y):
            z = y.cos()
            return z.sum()
        x = torch.ones(3, requires_grad=True)
        f(x).backward()
        print(x.grad)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = torch.compile(optimizer.step, backend="eager")
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            step()
        print([p.shape for p in model.parameters()])
    """,
    "much": """
        import copy, io, threading
        import torch
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Linear(3, 3)
            def forward(self, x):
                x = checkpoint(self.a, x, use_reentrant=False)
                return checkpoint(torch.tanh, x, use_reentrant=True)
        model = Model()
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        again = torch.load(buffer, weights_only=False)
        twin = copy.deepcopy(model)
        seen = []
        model.a.weight.register_hook(lambda g: seen.append(g.sum().item()))
        model(torch.ones(2, 3, requires_grad=True)).sum().backward()
        print(seen, type(again).__module__, torch.equal(twin.a.weight, again.a.weight))
        out = {}
        def work(k):
            x = torch.full((3,), float(k), requires_grad=True)
            for _ in range(20):
                (x * x).sum().backward()
            out[k] = x.grad.tolist()
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(sorted(out.items()))
        print(torch.func.grad(lambda x: (x ** 3).sum())(torch.ones(2)), torch.func.jacrev(torch.sin)(torch.zeros(2)))
        print(torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.ones(2)))
        x = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        g.sum().backward()
        print(x.grad, torch.autograd.grad((x ** 2).sum(), x, is_grads_batched=False))
        optimizer = torch.optim.LBFGS([x], max_iter=4)
        def closure():
            optimizer.zero_grad()
            loss = (x ** 2).sum()
            loss.backward()
            return loss
        print(optimizer.step(closure), x)
        with torch.device("cpu"):
            y = torch.randn(2, requires_grad=True)
            y.sum().backward()
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False) as counter:
            twin.a(torch.ones(2, 3)).sum().backward()
        print(y.grad, counter.get_total_flops())
    """,
}


# Compiling, and waiting for other processes, take the longest by far.
LONG = ("compiled", "networks_one_after_another", "workers")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in PROGRAMS])
def test_live_program(name, tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent(PROGRAMS[name]).lstrip("\n"))
    result = both(tmp_path, "prog.py")
    assert result.plain.status == 0, result.plain.err
    result.agree(err=False)
    assert not re.search(r"^secondpass\b|\bSP\d{3}\b", result.watched.err, re.MULTILINE), result.watched.err
