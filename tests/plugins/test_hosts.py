# SPDX-License-Identifier: BSD-3-Clause
"""The same faults in every framework: `secondpass run` and the framework's plugin must both tell the cause, what carried it,
the lines and the patch; `install()` in the first line as well. One process per framework; each program runs in a child of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from .hosts import FAULTS, HOSTS, PASSES, WATCHES, cells, program

ROOT = Path(__file__).parents[2]
CODES = {
    "carried-state": "SP103",
    "stored-history": "SP107",
    "crossed-networks": "SP106",
    "step-between": "SP201",
    "graph-leak": "SP401",
    "shared-forward": "SP102",
    "missing-zero-grad": "SP403",
}
LIBRARY = {"Fabric": "lightning", "Transformers": "transformers", "Accelerate": "accelerate", "Ignite": "ignite"}
# Forks a child per program: the libraries are loaded once.
DRIVER = """
import json, os, sys
folder, library, jobs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
import torch
__import__({"ignite": "ignite.engine", "lightning": "lightning.pytorch", "transformers": "transformers"}.get(library, library))
from secondpass.commands._program import Program
torch.set_num_threads(1)
os.chdir(folder)
for name, watched in jobs:
    child = os.fork()
    if child == 0:
        status = 99
        try:
            out = os.open(name + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1), os.dup2(out, 2)
            sys.argv = [name]
            if watched:
                status = Program(name, (), json_file=name + ".json").run()
            else:
                sys.path[0] = folder
                try:
                    from types import ModuleType
                    main = sys.modules["__main__"] = ModuleType("__main__")
                    main.__file__ = os.path.join(folder, name)
                    exec(compile(open(name, "rb").read(), main.__file__, "exec", dont_inherit=True), vars(main))
                except BaseException as error:
                    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
                    sys.excepthook(type(error), error, error.__traceback__)
                import atexit
                atexit._run_exitfuncs()
            sys.stdout.flush(), sys.stderr.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""

pytestmark = pytest.mark.slow


@cache
def told(folder: Path, host: str) -> dict[tuple[str, str], tuple[str, str]]:
    """What was said about every program of a host: (fault, who watched) -> (the program, the output)."""
    jobs, texts = [], {}
    for k, (_, fault) in enumerate(c for c in cells() if c[0] == host):
        for watch in WATCHES:
            name = f"{fault.replace('-', '_')}_{k}_{watch}.py"
            texts[fault, watch] = name, program(host, fault, watch)
            (folder / name).write_text(texts[fault, watch][1])
            jobs.append((name, watch == "run"))
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    library = LIBRARY.get(host, "lightning")
    command = [sys.executable, "-c", DRIVER, str(folder), library, json.dumps(jobs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return {key: (text, (folder / f"{name}.out").read_text()) for key, (name, text) in texts.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hosts")


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize(("host", "fault"), [pytest.param(*c, marks=pytest.mark.xdist_group(c[0])) for c in cells()])
def test_is_told(host: str, fault: str, watch: str, folder: Path) -> None:
    if find_spec(LIBRARY.get(host, "lightning")) is None:
        pytest.skip(f"{host} is not installed")
    text, said = told(folder, host)[fault, watch]
    carrier, patch = (FAULTS[fault][0], FAULTS[fault][3]) if fault in FAULTS else (PASSES[fault][0], PASSES[fault][2])
    found = re.findall(r"^(SP\d+) ([a-z-]+):", said, re.MULTILINE)
    assert found == [(CODES[fault], fault)], said[-3000:]
    headline, _, rest = said.partition(f"{CODES[fault]} {fault}:")[2].partition("\n\n")
    assert not carrier or re.search(rf"`([\w.]+\.)?{carrier}\b", headline), said[-3000:]
    excerpt = rest.partition("passes  ")[0] if "passes  " in rest else rest.partition("seen  ")[0]
    shown = {int(n) for n in re.findall(r"^ +(\d+) \| ", excerpt, re.MULTILINE)}
    wanted = {k for k, line in enumerate(text.splitlines(), 1) if re.search(r"# (built|freed|changed|failed)", line)}
    assert wanted and wanted <= shown, (wanted, said[-3000:])
    assert re.search(patch, rest), said[-3000:]


def test_the_table_in_the_documentation_has_these_cells() -> None:
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    rows = [[c.strip() for c in line.strip()[1:-1].split("|")] for line in page.splitlines() if line.startswith("| ")]
    head = next(r for r in rows if r[0] == "")
    table = {(r[0], fault): cell for r in rows if r[0] in HOSTS for fault, cell in zip(head[1:], r[1:], strict=True)}
    assert {key for key, cell in table.items() if cell.startswith("name, line, patch")} == set(cells())


def test_what_a_framework_holds_goes_by_the_names_of_its_class():
    """The way through the framework's own objects is no name."""
    import torch

    from secondpass.watcher.bindings import look

    class Strategy:
        def __init__(self, model, callbacks):
            self.model, self.callbacks = model, callbacks

    class Net:
        state = None

    Strategy.__module__ = "framework.strategies"
    net, other = Net(), Net()
    net.state = other.state = torch.ones(2, requires_grad=True).exp()

    def main():
        trainer = Strategy(net, [other])
        frame = sys._getframe()
        return [look([frame], None, hosts, lambda kind: kind is Net) for hosts in ([frame], [])], trainer

    (hosted, alone), _ = main()
    # The second object of a class keeps its own way: two things are not called the same.
    assert [s.trail.spelled() for s in hosted.names] == ["self.state", "trainer.callbacks[0].state"]
    assert [s.trail.spelled() for s in alone.names] == ["trainer.model.state", "trainer.callbacks[0].state"]
