# SPDX-License-Identifier: BSD-3-Clause
"""With and without watching: the same bits."""

from __future__ import annotations

import ast
import atexit
import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch._dynamo  # every child would import it by itself, for its optimizer

from secondpass.commands._program import Program

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("SECONDPASS_CASES", ROOT.parent / "shared" / "cases"))

# Put behind a program's own text: whatever it ends with is printed, to the last bit. Only names that a program keeps are
# looked at, so it says the same in both runs.
DIGEST = """

def _print_digests():
    import hashlib, sys
    import torch
    found = {}
    def put(name, t):
        t = t.detach()
        t = t.to_dense() if t.is_sparse else t
        found[name] = hashlib.sha256(t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest() if t.numel() else "empty"
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, torch.nn.Module):
            for inner, t in value.state_dict().items():
                put(f"{name}.{inner}", t)
            for inner, p in value.named_parameters():
                if p.grad is not None:
                    put(f"{name}.{inner}.grad", p.grad)
        elif isinstance(value, torch.Tensor):
            put(name, value)
    print(sorted(found.items()), hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest())

import atexit as _atexit
_atexit.register(_print_digests)
"""


def programs() -> list[Path]:
    found = sorted((ROOT / "examples").glob("*.py"))
    for folder in (CASES, ROOT / "tests" / "cases"):
        found += sorted(folder.glob("*/main.py"))
    return found


def with_digests(source: str) -> str:
    """The digest is registered first thing (after what must stand at the top), so that it is the last to run."""
    body = ast.parse(source).body
    last = 0
    for stmt in body:
        if (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)) or (
            isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
        ):
            last = stmt.end_lineno or 0
        else:
            break
    lines = source.splitlines(keepends=True)
    return "".join([*lines[:last], DIGEST, *lines[last:]])


def forked(folder: Path, program: str, watched: bool) -> tuple[int, str]:
    """Runs a program in a child of this process, which has torch already: there are many of them."""
    out = folder / f"{watched}.out"
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = _child(folder, program, watched, out)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, out.read_text(encoding="utf-8")


def _child(folder: Path, program: str, watched: bool, out: Path) -> int:
    os.chdir(folder)
    for number, file in ((1, out), (2, folder / f"{watched}.err")):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
    sys.excepthook = sys.__excepthook__
    atexit._clear()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if watched:
        status = Program(program, ()).run()
    else:
        status = 0
        sys.path[0], sys.argv = str(folder), [program]
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.__file__ = str(folder / program)
        try:
            exec(compile((folder / program).read_bytes(), main.__file__, "exec", dont_inherit=True), vars(main))
        except SystemExit as stop:
            status = stop.code
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 0 if status is None else 1


@pytest.mark.parametrize("path", programs(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_same_bits(path, tmp_path):
    for other in path.parent.iterdir():
        if other.is_file() and other.suffix != ".json":
            (tmp_path / other.name).write_bytes(other.read_bytes())
        elif other.is_dir() and other.name != "__pycache__":
            shutil.copytree(other, tmp_path / other.name)
    (tmp_path / path.name).write_text(with_digests(path.read_text(encoding="utf-8")), encoding="utf-8")
    plain, watched = (forked(tmp_path, path.name, way) for way in (False, True))
    assert re.search(r"\[.*\] [0-9a-f]{64}\n$", plain[1]), "no digest was printed"
    assert watched == plain
