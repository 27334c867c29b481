# SPDX-License-Identifier: BSD-3-Clause
"""Broken programs with repairs that are right and repairs that end well and train something else.

A repair is a kind and replacements of text; what is wrong with it says its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent

__all__ = ["PROGRAMS", "Broken", "Patch"]


@dataclass
class Patch:
    kind: str
    changes: tuple[tuple[str, str], ...]

    def apply(self, text: str) -> str:
        for old, new in self.changes:
            assert text.count(old) == 1, (old, text)
            text = text.replace(old, new)
        return text


@dataclass
class Broken:
    text: str
    right: dict[str, Patch] = field(default_factory=dict)
    wrong: dict[str, Patch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = "import torch\ntorch.manual_seed(0)\n" + dedent(self.text).lstrip("\n")


def patch(kind: str, *changes: tuple[str, str]) -> Patch:
    return Patch(kind, changes)


RECURRENT = Broken(
    """
    cell, head = torch.nn.GRUCell(3, 4), torch.nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    data = torch.randn(5, 3, 2, 3)
    h = torch.zeros(2, 4)
    for turn in range(5):
        loss = 0.0
        for t in range(3):
            h = cell(data[turn, t], h)
            loss = loss + head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={"cut behind the step": patch("detach", ("    opt.step()\n", "    opt.step()\n    h = h.detach()\n"))},
    wrong={
        "cut at every time step": patch("detach", ("turn, t], h)", "turn, t], h.detach())")),
        "the loss does not reach the cell": patch("detach", ("head(h)", "head(h.detach())")),
        "the state starts anew": patch("detach", ("    loss = 0.0\n", "    loss = 0.0\n    h = torch.zeros(2, 4)\n")),
        "one time step of three": patch(
            "detach", ("range(3)", "range(1)"), ("    opt.step()\n", "    opt.step()\n    h = h.detach()\n")
        ),
        "steps once in two turns": patch(
            "detach", ("    opt.step()\n", "    if turn % 2:\n        opt.step()\n    h = h.detach()\n")
        ),
        "clears what the pass gave": patch(
            "detach",
            ("    opt.zero_grad()\n", ""),
            ("    opt.step()\n", "    opt.zero_grad()\n    opt.step()\n    h = h.detach()\n"),
        ),
    },
)

GAN = Broken(
    """
    G, D = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
    real, z = torch.randn(6, 3), torch.randn(6, 2)
    for turn in range(4):
        fake = G(z)
        opt_d.zero_grad()
        loss_d = D(fake).mean() - D(real).mean()
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g = (fake - real).pow(2).mean() - D(fake).mean()
        loss_g.backward()
        opt_g.step()
    """,
    right={
        "the discriminator gets data": patch("detach", ("loss_d = D(fake)", "loss_d = D(fake.detach())")),
        "a fake of its own": patch(
            "recompute", ("    opt_g.zero_grad()\n", "    opt_g.zero_grad()\n    fake = G(z)\n")
        ),
    },
    wrong={
        "no adversarial gradient": patch("detach", ("() - D(fake).mean()", "() - D(fake.detach()).mean()")),
        "no reconstruction": patch("detach", ("(fake - real)", "(fake.detach() - real)")),
        "the generator gets data": patch(
            "detach", ("    opt_d.zero_grad()\n", "    opt_d.zero_grad()\n    fake = fake.detach().requires_grad_()\n")
        ),
        "the term is gone": patch(
            "recompute",
            ("    opt_g.zero_grad()\n", "    opt_g.zero_grad()\n    fake = G(z)\n"),
            ("() - D(fake).mean()\n    loss_g", "()\n    loss_g"),
        ),
        "the term is a constant": patch(
            "recompute",
            ("    opt_g.zero_grad()\n", "    opt_g.zero_grad()\n    fake = G(z)\n"),
            ("() - D(fake).mean()\n    loss_g", "() - D(fake).mean().item()\n    loss_g"),
        ),
    },
)

ADVERSARIAL = Broken(
    """
    G, D = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
    real, z = torch.randn(6, 3), torch.randn(6, 2)
    for turn in range(4):
        fake = G(z)
        opt_d.zero_grad()
        (D(fake).tanh().mean() - D(real).mean()).backward()
        opt_d.step()
        loss_g = -D(fake).tanh().mean()
        loss_g.backward()
        opt_g.step()
        opt_g.zero_grad()
    """,
    right={"the discriminator gets data": patch("detach", ("(D(fake)", "(D(fake.detach())"))},
    wrong={
        "the generator learns from the other loss": patch("detach", ("-D(fake)", "-D(fake.detach())")),
    },
)

AVERAGE = Broken(
    """
    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    ema = torch.zeros(())
    for turn in range(5):
        out = net(x)
        ema = 0.9 * ema + 0.1 * out.mean()
        loss = (out - y).pow(2).mean() + (ema - 0.3) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={"the carried term is a value": patch("detach", ("0.9 * ema +", "0.9 * ema.detach() +"))},
    wrong={
        "the average is gone": patch("detach", ("    out = net(x)\n", "    ema = torch.zeros(())\n    out = net(x)\n")),
        "the average is a constant": patch("detach", ("(ema - 0.3)", "(ema.detach() - 0.3)")),
        "this turn's part is a constant": patch(
            "detach", ("0.9 * ema + 0.1 * out.mean()", "0.9 * ema + 0.1 * out.mean().detach()")
        ),
    },
)

ACCUMULATED = Broken(
    """
    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(5, 8, 3), torch.randn(5, 8, 1)
    total = 0.0
    for turn in range(5):
        loss = (net(x[turn]) - y[turn]).pow(2).mean() + net.weight.abs().sum()
        total = total + loss
        opt.zero_grad()
        total.backward()
        opt.step()
    """,
    right={
        "its own loss": patch("item", ("total + loss", "total + loss.item()"), ("total.backward", "loss.backward")),
        "the sum is a value": patch("detach", ("    opt.step()\n", "    opt.step()\n    total = total.detach()\n")),
    },
    wrong={
        "without the second term": patch(
            "item",
            ("total + loss", "total + loss.item()"),
            ("total.backward", "(net(x[turn]) - y[turn]).pow(2).mean().backward"),
        ),
        "only the first turn": patch(
            "item", ("    total.backward()\n", "    if not turn:\n        total.backward()\n")
        ),
    },
)

HOISTED = Broken(
    """
    enc = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
    head = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    code = enc(x)
    for turn in range(4):
        loss = (head(code) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={
        "computed in every turn": patch(
            "recompute", ("code = enc(x)\n", ""), ("    loss =", "    code = enc(x)\n    loss =")
        )
    },
    wrong={
        "the encoder is frozen": patch("detach", ("code = enc(x)", "code = enc(x).detach()")),
        "a part of it": patch("recompute", ("code = enc(x)\n", ""), ("    loss =", "    code = enc[0](x)\n    loss =")),
        "without recording": patch(
            "recompute",
            ("code = enc(x)\n", ""),
            ("    loss =", "    with torch.no_grad():\n        code = enc(x)\n    loss ="),
        ),
        "twice": patch(
            "recompute",
            ("code = enc(x)\n", "code = enc(x)\nwide = torch.nn.Linear(4, 3)\n"),
            ("    loss =", "    code = enc(wide(enc(x)))\n    loss ="),
        ),
        "one turn": patch("recompute", ("range(4)", "range(1)")),
    },
)

SHARED = Broken(
    """
    enc, one, two = (torch.nn.Linear(3, 3) for _ in range(3))
    opt = torch.optim.SGD([*enc.parameters(), *one.parameters(), *two.parameters()], lr=0.1)
    x = torch.randn(8, 3)
    for turn in range(4):
        code = enc(x).tanh()
        loss_a = one(code).pow(2).mean()
        loss_b = two(code).abs().mean()
        opt.zero_grad()
        loss_a.backward()
        loss_b.backward()
        opt.step()
    """,
    right={
        "one pass over the sum": patch(
            "combine-losses", ("    loss_a.backward()\n", ""), ("loss_b.back", "(loss_a + loss_b).back")
        )
    },
    wrong={
        "the last loss only": patch("combine-losses", ("    loss_a.backward()\n", "")),
        "the first loss only": patch("combine-losses", ("    loss_b.backward()\n", "")),
        "one is a constant": patch(
            "combine-losses", ("    loss_a.backward()\n", ""), ("loss_b.back", "(loss_a.detach() + loss_b).back")
        ),
        "one does not reach the encoder": patch("detach", ("two(code)", "two(code.detach())")),
        "a step less": patch(
            "combine-losses",
            ("    loss_a.backward()\n", ""),
            ("loss_b.backward()\n    opt.step()", "(loss_a + loss_b).backward()\n    # no step"),
        ),
    },
)

OVER_A_STEP = Broken(
    """
    enc, one, two = (torch.nn.Linear(3, 3) for _ in range(3))
    first = torch.optim.SGD([*enc.parameters(), *one.parameters()], lr=0.1)
    second = torch.optim.SGD(two.parameters(), lr=0.1)
    x = torch.randn(8, 3)
    for turn in range(4):
        code = enc(x).tanh()
        loss_a = one(code).pow(2).mean()
        loss_b = two(code).abs().mean()
        first.zero_grad()
        loss_a.backward()
        first.step()
        second.zero_grad()
        loss_b.backward()
        second.step()
    """,
    right={"the second one gets data": patch("detach", ("two(code)", "two(code.detach())"))},
    wrong={
        "summed over a step": patch(
            "combine-losses",
            ("loss_a.back", "(loss_a + loss_b).back"),
            ("    second.zero_grad()\n    loss_b.backward()\n", ""),
        ),
        "the second one never steps": patch(
            "combine-losses",
            ("loss_a.back", "(loss_a + loss_b).back"),
            ("    second.zero_grad()\n    loss_b.backward()\n    second.step()\n", ""),
        ),
    },
)

SAMPLED = Broken(
    """
    policy = torch.nn.Linear(3, 2)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    seen, reward = torch.randn(6, 3), torch.randn(6)
    score = 0.0
    for t in range(6):
        score = score + policy(seen[t]).log_softmax(-1)[0] * reward[t]
    for epoch in range(3):
        opt.zero_grad()
        (-score).backward()
        opt.step()
    """,
    right={
        "the loop in every epoch": patch(
            "recompute",
            (
                "score = 0.0\nfor t in range(6):\n    score = score + policy(seen[t]).log_softmax(-1)[0] * reward[t]\n",
                "",
            ),
            (
                "    opt.zero",
                "    score = 0.0\n    for t in range(6):\n"
                "        score = score + policy(seen[t]).log_softmax(-1)[0] * reward[t]\n    opt.zero",
            ),
        )
    },
    wrong={
        "the loop is lost": patch(
            "recompute",
            ("    opt.zero", "    score = policy(seen[t]).log_softmax(-1)[0] * reward[t]\n    opt.zero"),
        ),
        "a pass less": patch(
            "other", ("    (-score).backward()\n", "    if not epoch:\n        (-score).backward()\n")
        ),
    },
)

BY_HAND = Broken(
    """
    w = torch.randn(3, 3, requires_grad=True)
    v = torch.randn(3, requires_grad=True)
    x = torch.randn(4, 3)
    h = torch.zeros(3)
    for turn in range(4):
        h = torch.tanh(x[turn] @ w + h @ w)
        loss = (h * v).sum().pow(2)
        loss.backward()
        with torch.no_grad():
            for p in (w, v):
                p -= 0.1 * p.grad
                p.grad = None
    """,
    right={"cut before it is used": patch("detach", ("+ h @ w", "+ h.detach() @ w"))},
    wrong={
        "the state is data in the loss": patch(
            "detach", ("(h * v)", "(h.detach() * v)"), ("p.grad\n", "(p.grad if p.grad is not None else 0.0)\n")
        )
    },
)

QUEUE = Broken(
    """
    enc = torch.nn.Linear(3, 4)
    opt = torch.optim.SGD(enc.parameters(), lr=0.1)
    x = torch.randn(5, 2, 3)
    queue = [torch.randn(2, 4)]
    for turn in range(5):
        z = enc(x[turn]).tanh()
        loss = (z @ torch.cat(queue).T).logsumexp(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        queue.append(z)
    """,
    right={"stored as values": patch("detach", ("append(z)", "append(z.detach())"))},
    wrong={
        "the encoder is not trained": patch("detach", (".tanh()", ".tanh().detach().requires_grad_()")),
        "the queue stays empty": patch("detach", ("    queue.append(z)\n", "")),
    },
)

IN_PLACE = Broken(
    """
    net, out = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    opt = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
    x = torch.randn(4, 3)
    for turn in range(3):
        h = torch.sigmoid(net(x))
        seen = h
        h *= 2.0
        loss = out(h).mean() + seen.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={"out of place, as both names had it": patch("clone", ("h *= 2.0", "h = seen = h * 2.0"))},
    wrong={
        "the other name keeps the old value": patch("clone", ("h *= 2.0", "h = h * 2.0")),
        "another operation": patch("clone", ("h *= 2.0", "h = seen = h + 2.0")),
    },
)

TARGETS = Broken(
    """
    q = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    opt = torch.optim.SGD(q.parameters(), lr=0.1)
    x, after = torch.randn(8, 3), torch.randn(8, 3)
    targets = 0.9 * q(after).max(1).values
    for turn in range(4):
        loss = (q(x)[:, 0] - targets).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={"made as values": patch("detach", (".values", ".values.detach()"))},
    wrong={
        "the first turn trains through them": patch(
            "detach", ("    opt.step()\n", "    opt.step()\n    targets = targets.detach()\n")
        ),
        "the prediction is a constant": patch(
            "detach", ("(q(x)[:, 0] - targets)", "(q(x)[:, 0].detach() - 0.9 * q(after).max(1).values)")
        ),
    },
)

DEALT = Broken(
    """
    G, D = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    opts = {"judge": torch.optim.SGD(D.parameters(), lr=0.1), "artist": torch.optim.SGD(G.parameters(), lr=0.1)}

    def deal():
        return {"copies": G(torch.randn(6, 2)).tanh(), "originals": torch.randn(6, 3)}

    def judge(table):
        return D(table["copies"]).mean() - D(table["originals"]).mean()

    def artist(table):
        return -D(table["copies"]).mean()

    for turn in range(4):
        table = deal()
        for goal in (judge, artist):
            opt = opts[goal.__name__]
            opt.zero_grad()
            goal(table).backward()
            opt.step()
    """,
    right={
        "the judge gets data": patch(
            "detach", ('D(table["copies"]).mean() - D', 'D(table["copies"].detach()).mean() - D')
        )
    },
    wrong={
        "dealt anew for each player": patch(
            "recompute", ("    table = deal()\n", ""), ("        opt =", "        table = deal()\n        opt =")
        ),
        "the artist gets data": patch("detach", ('-D(table["copies"])', '-D(table["copies"].detach())')),
    },
)

LOSSES_OF_TWO_PLAYERS = Broken(
    """
    actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizers = [torch.optim.SGD(n.parameters(), lr=0.1) for n in (critic, actor)]
    for turn in range(4):
        x = torch.randn(5, 3)
        value = critic(actor(x))
        losses = [(critic(actor(x).detach()) - 1).pow(2).mean(), -value.mean()]
        for opt, loss in zip(optimizers, losses):
            opt.zero_grad()
            loss.backward()
            opt.step()
    """,
    right={
        "passes first, each to its own": patch(
            "reorder",
            (
                "        loss.backward()\n        opt.step()\n",
                "        loss.backward(inputs=[p for g in opt.param_groups for p in g['params']])\n"
                "    for opt in optimizers:\n        opt.step()\n",
            ),
        )
    },
    wrong={
        "the critic's step takes the actor's gradients": patch(
            "reorder",
            (
                "        opt.zero_grad()\n        loss.backward()\n        opt.step()\n",
                "        opt.zero_grad()\n    for loss in losses:\n        loss.backward()\n"
                "    for opt in optimizers:\n        opt.step()\n",
            ),
        )
    },
)

REENTRANT = Broken(
    """
    from torch.utils.checkpoint import checkpoint

    start, scale = torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid())
    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
    opt = torch.optim.SGD([p for m in (start, scale, blocks) for p in m.parameters()], lr=0.1)
    for turn in range(4):
        x, sizes = torch.randn(5, 3), torch.randn(5, 2)
        h, factor = start(x), scale(sizes)
        for block in blocks:
            h = checkpoint(lambda y, b=block: torch.tanh(b(y) * factor), h, use_reentrant=True)
        loss = h.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
    right={
        "not reentrant": patch("other", ("use_reentrant=True", "use_reentrant=False")),
        "not checkpointed": patch(
            "other",
            (
                "checkpoint(lambda y, b=block: torch.tanh(b(y) * factor), h, use_reentrant=True)",
                "torch.tanh(block(h) * factor)",
            ),
        ),
    },
    wrong={
        "the scale is a constant": patch(
            "other", ("* factor)", "* factor.detach())"), ("use_reentrant=True", "use_reentrant=False")
        ),
        "a block less": patch("other", ("in blocks:", "in blocks[1:]:"), ("use_reentrant=True", "use_reentrant=False")),
        "the last block alone": patch(
            "other", (" h, use_re", " h.detach(), use_re"), ("use_reentrant=True", "use_reentrant=False")
        ),
        "without recording": patch(
            "other",
            ("torch.tanh(b(y) * factor)", "torch.tanh((b(y) * factor).detach() + 0 * y)"),
            ("use_reentrant=True", "use_reentrant=False"),
        ),
    },
)

TWICE = Broken(
    """
    body, head = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()), torch.nn.Linear(4, 2)
    opt_b, opt_h = torch.optim.SGD(body.parameters(), lr=0.1), torch.optim.SGD(head.parameters(), lr=0.1)
    for turn in range(4):
        x = torch.randn(6, 3)
        opt_b.zero_grad()
        opt_h.zero_grad()
        loss = head(body(x)).pow(2).mean()
        loss.backward()
        opt_b.step()
        loss.backward()
        opt_h.step()
    """,
    wrong={
        "the head is given both gradients": patch(
            "recompute",
            (
                "    opt_b.step()\n    loss.backward()\n",
                "    opt_b.step()\n    again = head(body(x)).pow(2).mean()\n    again.backward()\n",
            ),
        )
    },
)

EACH_IN_TURN = Broken(
    """
    body, head = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()), torch.nn.Linear(4, 2)
    opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (body, head)]
    for turn in range(4):
        x = torch.randn(6, 3)
        loss = head(body(x)).pow(2).mean()
        for opt in opts:
            opt.zero_grad()
            loss.backward()
            opt.step()
    """,
    right={
        "a forward each": patch(
            "recompute",
            ("    loss = head(body(x)).pow(2).mean()\n", ""),
            ("        loss.backward()", "        loss = head(body(x)).pow(2).mean()\n        loss.backward()"),
        )
    },
    wrong={
        "a batch each": patch(
            "recompute",
            ("    x = torch.randn(6, 3)\n    loss = head(body(x)).pow(2).mean()\n", ""),
            (
                "        loss.backward()",
                "        x = torch.randn(6, 3)\n        loss = head(body(x)).pow(2).mean()\n        loss.backward()",
            ),
        )
    },
)

AGAIN_AND_AGAIN = Broken(
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for turn in range(4):
        x = torch.randn(6, 3)
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        for part in range(2):
            loss.backward()
        opt.step()
    """,
    wrong={
        "another sample is added": patch(
            "recompute",
            ("    loss = net(x).pow(2).mean()\n", ""),
            ("        loss.backward()", "        loss = net(x).pow(2).mean()\n        loss.backward()"),
        )
    },
)

ROWS = Broken(
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(4, 3):
        opt.zero_grad()
        out = net(x).exp()
        out.backward(torch.tensor([1.0, 0.0]))
        out.backward(torch.tensor([0.0, -1.0]))
        opt.step()
    """,
    wrong={"one row of two": patch("other", ("    out.backward(torch.tensor([0.0, -1.0]))\n", ""))},
)

ONE_BY_ONE = Broken(
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(4, 2, 6, 3):
        opt.zero_grad()
        one, two = net(x[0]).pow(2).mean(), net(x[1]).abs().mean()
        one.backward()
        two.backward()
        total = one + two
        total.backward()
        opt.step()
    """,
    right={"each once": patch("other", ("    total.backward()\n", ""))},
)

PROGRAMS = {name.lower(): value for name, value in list(globals().items()) if isinstance(value, Broken)}
