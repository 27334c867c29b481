# SPDX-License-Identifier: BSD-3-Clause
"""Findings made by hand, with the little programs that they are about."""

from __future__ import annotations

from secondpass.record import Carrier, Edit, Finding, Place, Proof, Remedy

TRAIN = """\
import torch

def train(rnn, head, batches, optimizer):
    hidden = torch.zeros(8, 32)
    for x, y in batches:
        hidden = rnn(x, hidden)  # one step of the cell
        loss = ((head(hidden) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

MODEL = """\
class Filter(nn.Module):
    def forward(self, x):
        self.state = torch.tanh(self.mix(x) + self.state)
        return self.state
"""

GAN = """\
fake = generator(torch.randn(64, 16))
loss_d = bce(critic(real), ones) + bce(critic(fake), zeros)
opt_d.zero_grad(); loss_d.backward(); opt_d.step()
loss_g = bce(critic(fake), ones) + 0.1 * perceptual_distance(fake, real, layers=("conv1", "conv2"), weights=None).sum()
opt_g.zero_grad(); loss_g.backward(); opt_g.step()
"""

SOURCES = {"train.py": TRAIN, "lib/model.py": MODEL, "gan.py": GAN}


def at(file: str, line: int, function: str = "") -> Place:
    return Place(file, line, function)


def seen(what: str, text: str, **more: object) -> dict[str, object]:
    return {"what": what, "text": text, **more}


CARRIED = Finding(
    code="SP103",
    cause="carried-state",
    severity="error",
    message="`hidden` carries the history of iteration 3 into iteration 4, but the backward of iteration 3 freed it.",
    failed=at("train.py", 9, "train"),
    carrier=Carrier("hidden"),
    built=at("train.py", 6, "train"),
    freed=at("train.py", 9, "train"),
    used=at("train.py", 9, "train"),
    evidence=(
        seen("pass", "loss.backward()", place={"file": "train.py", "line": 9}, iteration=2),
        seen("pass", "loss.backward()", place={"file": "train.py", "line": 9}, iteration=3, label="freed"),
        seen("pass", "loss.backward()", place={"file": "train.py", "line": 9}, iteration=4, label="failed"),
        seen("node", "the pass stopped at TanhBackward0, built by `hidden = rnn(x, hidden)`"),
    ),
    remedies=(
        Remedy(
            kind="detach",
            title="Start each iteration from `hidden` without its history",
            safe=True,
            why="`retain_graph=True` would keep every iteration alive and then fail at the weights that "
            "`optimizer.step()` has changed.",
            edits=(
                Edit(
                    "train.py",
                    6,
                    "        hidden = rnn(x, hidden)  # one step of the cell",
                    "        hidden = rnn(x, hidden.detach())  # one step of the cell",
                ),
            ),
            proof=Proof("proven", "the repaired program ran to its end; the first 3 losses are the same"),
        ),
    ),
    facts={"built_iteration": 3, "freed_iteration": 3, "used_iteration": 4, "loop": {"file": "train.py", "line": 5}},
)

ACROSS_FILES = Finding(
    code="SP103",
    cause="carried-state",
    severity="error",
    message="`self.state` carries history from one call of `forward` to the next.",
    failed=at("train.py", 9, "train"),
    carrier=Carrier("self.state", "attribute"),
    built=at("lib/model.py", 3, "Filter.forward"),
    freed=at("train.py", 9, "train"),
    used=at("train.py", 9, "train"),
    evidence=(seen("note", "the line was found by the name, not by watching it run"),),
    remedies=(
        Remedy(
            "detach",
            "Detach `self.state` before it is used again",
            safe=True,
            edits=(Edit("lib/model.py", 3, "", "        self.state = self.state.detach()"),),
        ),
        Remedy("keep-history", "If the history is wanted, sum the losses and call backward once per sequence"),
    ),
    sure=False,
)

CROSSED = Finding(
    code="SP106",
    cause="crossed-networks",
    severity="error",
    message="`fake` went through `loss_d.backward()`, which freed the generator's part, and `loss_g` needs it again.",
    failed=at("gan.py", 5, "<module>"),
    carrier=Carrier("fake", "global"),
    built=at("gan.py", 1, "<module>"),
    freed=at("gan.py", 3, "<module>"),
    used=at("gan.py", 5, "<module>"),
    evidence=(
        seen(
            "pass",
            "torch.autograd.backward([loss_of_the_critic, loss_of_the_auxiliary_classifier], None)",
            place={"file": "gan.py", "line": 3, "function": "f"},
            iteration=None,
            retain=True,
        ),
        seen("step", "opt_d.step()", place={"file": "lib/train.py", "line": 300}),
    ),
    remedies=(
        Remedy(
            "detach",
            "Give the critic's own loss `fake.detach()`",
            safe=True,
            why="The critic's step needs no gradient of the generator: `retain_graph=True` would compute it, keep it "
            "and throw it away.",
            diff="--- gan.py\n+++ gan.py\n@@ -2 +2 @@\n"
            "-loss_d = bce(critic(real), ones) + bce(critic(fake), zeros)\n"
            "+loss_d = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)\n",
        ),
        Remedy("reorder", "Step the generator first"),
    ),
)

STEP_BETWEEN = Finding(
    code="SP201",
    cause="step-between",
    severity="error",
    message="`opt_d.step()` changed `critic.weight` between the forward of `loss_g` and its backward.",
    failed=at("gan.py", 5),
    carrier=Carrier("loss_g", "global"),
    built=at("gan.py", 4),
    freed=at("gan.py", 3),
    used=at("gan.py", 5),
    remedies=(Remedy("reorder", "Call `opt_d.step()` after both passes", place=at("gan.py", 3)),),
)

LEAK = Finding(
    code="SP401",
    cause="graph-leak",
    severity="warning",
    message="`losses` holds the graph of every iteration: 2.5 MB more each time.",
    failed=at("train.py", 7, "train"),
    carrier=Carrier("losses", "local"),
    evidence=(
        seen("bytes", "2.5 MB in 41 nodes per iteration, 250 MB after 100 iterations", bytes=2_621_440),
        seen("name", 'held by trainer -> .log -> ["loss"]'),
    ),
    remedies=(Remedy("item", "Keep the number: `loss.item()`", safe=True, place=at("train.py", 7)),),
)

NO_SOURCE = Finding(
    code="SP101",
    cause="repeated-backward",
    severity="error",
    message="`loss` is sent through a second time.",
    failed=at("<ipython-input-3>", 2),
    built=at("<ipython-input-2>", 1),
    freed=at("<ipython-input-3>", 1),
    used=at("<ipython-input-3>", 2),
)

BARE = Finding(code="SP403", cause="missing-zero-grad", severity="warning", message="Gradients pile up.")

ALL = {
    "carried": CARRIED,
    "across_files": ACROSS_FILES,
    "crossed": CROSSED,
    "step_between": STEP_BETWEEN,
    "leak": LEAK,
    "no_source": NO_SOURCE,
    "bare": BARE,
}
