# SPDX-License-Identifier: BSD-3-Clause
"""One rank: runs cases one after the other, each under a watch of its own, and writes down what was found.

torch takes seconds to start, so all cases share the processes; a case that fails fails on every rank alike.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import torch.distributed as dist

import secondpass


def main(out: str, cases: list[str]) -> None:
    dist.init_process_group("gloo")
    found = {}
    for case in cases:
        spec = importlib.util.spec_from_file_location("case", case)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        error = ""
        watched = secondpass.watch(quiet=True)
        try:
            with watched:
                module.main()
        except RuntimeError as raised:
            error = str(raised)
        found[Path(case).parent.name] = {"error": error, "report": json.loads(watched.session.report().to_json())}
    Path(out, f"{dist.get_rank()}.json").write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


main(sys.argv[1], sys.argv[2:])
