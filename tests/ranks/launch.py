# SPDX-License-Identifier: BSD-3-Clause
"""Starts the ranks of a program as torch's launcher would, but without it: that is one process less."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

__all__ = ["environment", "launch"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def environment(**more: str) -> dict[str, str]:
    """For a child of the tests: this checkout's package, one thread, no colours."""
    source = str(Path(__file__).parents[2] / "src")
    kept = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "SECONDPASS_DEBUG")}
    return {**kept, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **more}


def launch(ranks: int, *words: str, cwd: Path | None = None, timeout: float = 300) -> list[tuple[int, str]]:
    """Runs `python WORDS...` once per rank; what each exits with, and all that it says."""
    port = str(free_port())
    running = []
    for rank in range(ranks):
        env = environment(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port
        )
        running.append(
            subprocess.Popen(
                [sys.executable, *words], env=env, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )
    try:
        return [(p.returncode, text) for p in running for text in [p.communicate(timeout=timeout)[0]]]
    finally:
        for process in running:
            process.kill()
