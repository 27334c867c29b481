# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that were written for PyTorch on the specification, each traced, and prints what causes are found.

python -m tests.causes.on_specification FOLDER ...    one line of JSON for each: its findings, or why it cannot run
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import runpy
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import secondpass.autograd as spec
from secondpass.causes import diagnose
from secondpass.record import to_plain

# The specification in PyTorch's place. What it does not have, a program cannot import.
NAMES: dict[str, Any] = {
    "torch": spec,
    "torch.autograd": spec.autograd,
    "torch.autograd.function": spec.autograd,
    "torch.nn": spec.nn,
    "torch.nn.functional": spec.nn.functional,
    "torch.nn.utils": spec.nn.utils,
    "torch.optim": spec.optim,
    "torch.utils": spec.utils,
    "torch.utils.checkpoint": spec.utils.checkpoint,
}


def run(folder: Path) -> dict[str, Any]:
    """The findings of one program."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    before, sys.argv = set(sys.modules), ["main.py"]
    traced = spec.trace()
    try:
        with contextlib.redirect_stdout(io.StringIO()), traced:
            runpy.run_path(str(folder / "main.py"), run_name="__main__")
    except (Exception, SystemExit) as error:
        if not hasattr(error, "kind"):  # what the graph raises has one
            return {"missing": f"{type(error).__name__}: {error}"}
    finally:
        linecache.clearcache()
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]  # the next program has modules of the same names
    return {"findings": [to_plain(f) for f in diagnose(traced.trace)]}


def main() -> None:
    """Every folder of the command line."""
    warnings.simplefilter("ignore")
    sys.modules.update({name: module for name, module in NAMES.items() if isinstance(module, ModuleType)})
    for folder in [Path(name).resolve() for name in sys.argv[1:]]:
        print(json.dumps({"id": folder.name, **run(folder)}), flush=True)


if __name__ == "__main__":
    main()
