# SPDX-License-Identifier: BSD-3-Clause
"""One program for every host and fault: what a framework asks of its user around what the fault needs.

`# built`, `# freed` and `# failed` stand on the lines that must be told.
"""

from __future__ import annotations

from textwrap import dedent, indent

__all__ = ["FAULTS", "HOSTS", "PLUGIN", "WATCHES", "cells", "program"]

# `secondpass run`, the plugin of the framework, and `install()` in the first line: before anything of the program exists.
WATCHES = ("run", "plugin", "install")

HEAD = """
    import torch
    from torch import nn
    from torch.nn.functional import mse_loss

    torch.manual_seed(0)
    ROWS = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(24)]
    LOADER = torch.utils.data.DataLoader(ROWS, batch_size=None)
"""

# What belongs to the fault: how the network is made, and the loss of a batch.
FAULTS = {
    "carried-state": (
        "h",
        """
            self.cell, self.head = nn.GRUCell(3, 8), nn.Linear(8, 1)
            self.h = torch.zeros(4, 8)
        """,
        """
            self.h = self.cell(x, self.h)  # built
            return mse_loss(self.head(self.h), y)
        """,
        r"\+ +(self|net(\._forward_module)?)\.h = (self|net(\._forward_module)?)\.h\.detach\(\)",
    ),
    "stored-history": (
        "bank",
        """
            self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4))
            self.bank = []
        """,
        """
            z = self.net(x)  # built
            others = torch.cat([z.detach(), *self.bank])
            self.bank.append(z)
            return (z @ others.t()).logsumexp(1).mean() + y.mean()
        """,
        r"\+ +self\.bank\.append\(z\.detach\(\)\)",
    ),
    "graph-leak": (
        "losses",
        """
            self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
            self.losses = []
        """,
        """
            loss = mse_loss(self.net(x), y)
            self.losses.append(loss)  # failed
            return loss
        """,
        r"\+ +self\.losses\.append\(loss\.item\(\)\)",
    ),
}
# What belongs to the fault where the user makes the passes: the modules, and what one batch does.
PASSES = {
    "crossed-networks": (
        "act",
        """
            act = net.a(x)  # built
            first = (net.b(act) - y).pow(2).mean()
            opt_b.zero_grad()
            BACKWARD(first)  # freed
            opt_b.step()
            second = -net.b(act).mean()
            opt_a.zero_grad()
            BACKWARD(second)  # failed
            opt_a.step()
        """,
        r"\+ +first = \(net\.b\(act\.detach\(\)\) - y\)",
    ),
    "step-between": (
        "",
        """
            feats = net.a(x)
            first = (net.b(feats) - y).pow(2).mean()
            second = (net.c(feats) + y).pow(2).mean()
            opt.zero_grad()
            BACKWARD(first, retain_graph=True)
            opt.step()  # changed
            BACKWARD(second)  # failed
            opt.step()
        """,
        r"- +opt\.step\(\)",
    ),
    "shared-forward": (
        "feats",
        """
            feats = net.a(x)  # built
            first = (net.b(feats) - y).pow(2).mean()
            second = (net.c(feats) + y).pow(2).mean()
            opt.zero_grad()
            BACKWARD(first)  # freed
            BACKWARD(second)  # failed
            opt.step()
        """,
        r"\+ +[\w.]+\(first \+ second\)",
    ),
    "missing-zero-grad": (
        "opt",
        """
            feats = net.a(x)
            loss = (net.b(feats) + net.c(feats) - y).pow(2).mean()
            BACKWARD(loss)  # failed
            opt.step()
        """,
        r"\+ +opt\.zero_grad\(\)",
    ),
}
_NETS = """
    self.a = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 16))
    self.b = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    self.c = nn.Linear(16, 1)
"""
_ONE, _TWO = ("opt = SGD(net)",), ("opt_a = SGD(net.a)", "opt_b = SGD(net.b)")

LIGHTNING = (
    "max_epochs=1, accelerator='cpu', logger=False, enable_checkpointing=False, enable_progress_bar=False, "
    "enable_model_summary=False"
)
HOSTS = ("Lightning", "Lightning, manual", "Fabric", "Transformers", "Accelerate", "Ignite")
_BACKWARD = {
    "Lightning, manual": "self.manual_backward",
    "Fabric": "fabric.backward",
    "Accelerate": "accelerator.backward",
    "Ignite": "torch.autograd.backward",
}
PLUGIN = {
    "Lightning": "from secondpass.plugins.lightning import SecondPass",
    "Lightning, manual": "from secondpass.plugins.lightning import SecondPass",
    "Fabric": "from secondpass.plugins.lightning import SecondPass",
    "Transformers": "from secondpass.plugins.transformers import SecondPass",
    "Accelerate": "import secondpass",
    "Ignite": "from secondpass.plugins.ignite import SecondPass",
}


def cells() -> list[tuple[str, str]]:
    """Every host with the faults that can happen there: where the framework makes the only pass, none can cross."""
    found = [(host, fault) for host in HOSTS for fault in FAULTS]
    return found + [(host, fault) for host in _BACKWARD for fault in PASSES]


def program(host: str, fault: str, watch: str) -> str:
    """The program of a cell. Whoever watches, it has the same lines."""
    plugin = watch == "plugin"
    first = {"plugin": PLUGIN[host], "install": "import secondpass; secondpass.install()"}.get(watch, "# nobody")
    body = _passes(host, fault) if fault in PASSES else _losses(host, fault)
    text = "\n".join((first, dedent(HEAD).strip(), "", body))
    here = "[SecondPass()]" if plugin else "[]"
    return text.replace("CALLBACKS", here).replace("PLUGIN", _attached(host) if plugin else "pass")


def _attached(host: str) -> str:
    return {"Accelerate": "secondpass.install()", "Ignite": "SecondPass().attach(trainer)"}.get(host, "pass")


def _block(text: str, depth: int) -> str:
    return indent(dedent(text).strip("\n"), "    " * depth)


def _class(base: str, init: str, **methods: str) -> str:
    parts = [f"class Net({base}):", "    def __init__(self):", "        super().__init__()", _block(init, 2)]
    for signature, body in methods.items():
        name, _, arguments = signature.partition("__of__")
        parts += [f"    def {name}(self, {arguments.replace('__', ', ')}):", _block(body, 2)]
    return "\n".join(parts)


def _losses(host: str, fault: str) -> str:
    """The host calls for a loss, or its user does, batch by batch; the pass is the host's."""
    _, init, loss, _ = FAULTS[fault]
    mark = "" if fault == "graph-leak" else "  # freed # failed"
    if host.startswith("Lightning"):
        manual = host != "Lightning"
        step = "x, y = batch\n" + dedent(loss).strip("\n")
        if manual:
            step = step.replace("return ", "loss = ") if "return loss" not in step else step.replace("return loss", "")
            step += f"\nopt = self.optimizers()\nopt.zero_grad()\nself.manual_backward(loss){mark}\nopt.step()"
            init = dedent(init).strip("\n") + "\nself.automatic_optimization = False"
        methods = {"training_step__of__batch__index": step}
        fit = f"trainer.fit(Net(), LOADER){'' if manual else mark}"
        return "\n".join(
            (
                "import lightning",
                _class("lightning.LightningModule", init, **methods),
                "    def configure_optimizers(self):",
                "        return torch.optim.SGD(self.parameters(), lr=0.01)",
                f"trainer = lightning.Trainer({LIGHTNING}, callbacks=CALLBACKS)",
                fit,
            )
        )
    if host == "Transformers":
        forward = dedent(loss).replace("return ", "return {'loss': ", 1).rstrip("\n") + "}"
        return "\n".join(
            (
                "from transformers import Trainer, TrainingArguments",
                _class("nn.Module", init, forward__of__x__y=forward),
                "arguments = TrainingArguments('out', per_device_train_batch_size=4, num_train_epochs=1, report_to=[],",
                "    use_cpu=True, save_strategy='no', disable_tqdm=True, remove_unused_columns=False)",
                "data = [{'x': x[i], 'y': y[i]} for x, y in ROWS for i in range(4)]",
                f"Trainer(Net(), arguments, train_dataset=data, callbacks=CALLBACKS).train(){mark}",
            )
        )
    network = _class("nn.Module", init, forward__of__x__y=loss)
    backward = f"{_BACKWARD[host]}(loss){mark}"
    batch = f"loss = net(x, y)\nopt.zero_grad()\n{backward}\nopt.step()"
    return "\n".join((_imports(host), network, _loop(host, ("opt = SGD(net)",), batch)))


def _passes(host: str, fault: str) -> str:
    """The user makes several passes over one batch."""
    body = dedent(PASSES[fault][1]).strip("\n").replace("BACKWARD", _BACKWARD[host])
    made = _TWO if fault == "crossed-networks" else _ONE
    if host != "Lightning, manual":
        return "\n".join((_imports(host), _class("nn.Module", _NETS), _loop(host, made, body)))
    names = ", ".join(m.partition(" ")[0] for m in made)
    step = f"x, y = batch\nnet = self\n{names} = self.optimizers()\n{body}"
    owned = ", ".join(
        f"torch.optim.SGD({m[m.index('(') + 1 : -1].replace('net', 'self')}.parameters(), lr=0.01)" for m in made
    )
    return "\n".join(
        (
            "import lightning",
            _class(
                "lightning.LightningModule",
                dedent(_NETS).strip("\n") + "\nself.automatic_optimization = False",
                training_step__of__batch__index=step,
            ),
            "    def configure_optimizers(self):",
            f"        return {owned}",
            f"trainer = lightning.Trainer({LIGHTNING}, callbacks=CALLBACKS)",
            "trainer.fit(Net(), LOADER)",
        )
    )


def _imports(host: str) -> str:
    return {
        "Fabric": "from lightning.fabric import Fabric",
        "Accelerate": "from accelerate import Accelerator",
        "Ignite": "from ignite.engine import Engine",
    }[host] + "\ndef SGD(module):\n    return torch.optim.SGD(module.parameters(), lr=0.01)"


def _loop(host: str, made: tuple[str, ...], body: str) -> str:
    optimizers = [m.partition(" ")[0] for m in made]
    names = ", ".join(("net", *optimizers))
    if host == "Ignite":
        return "\n".join(
            (
                "net = Net()", *made,
                "def update(engine, batch):",
                "    x, y = batch",
                indent(body, "    "),
                "trainer = Engine(update)",
                "PLUGIN",
                "trainer.run(ROWS, max_epochs=1)",
            )
        )  # fmt: skip
    start = {
        "Fabric": "fabric = Fabric(accelerator='cpu', devices=1, callbacks=CALLBACKS)",
        "Accelerate": "accelerator = Accelerator(cpu=True)",
    }[host]
    if host == "Fabric":
        prepare = f"net = fabric.setup(net)\n    {names[5:]} = fabric.setup_optimizers({names[5:]})"
    else:
        prepare = f"{names} = accelerator.prepare({names})"
    return "\n".join(
        (
            "PLUGIN",
            "def train():",
            f"    {start}",
            "    net = Net()",
            *(f"    {m}" for m in made),
            f"    {prepare}",
            "    for x, y in ROWS:",
            indent(body, "        "),
            "train()",
        )
    )
