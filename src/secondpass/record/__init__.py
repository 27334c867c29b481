# SPDX-License-Identifier: BSD-3-Clause
"""Plain frozen data: what producers say, what causes find, what renderers show. Imports nothing of ours."""

from ._json import from_plain, to_plain
from .event import (
    Binding,
    Clear,
    Cut,
    Executed,
    Failure,
    Forward,
    Gradient,
    Holding,
    Kept,
    Loop,
    Pass,
    Step,
    Stretch,
    Switch,
    Write,
)
from .finding import Carrier, Edit, Finding, Proof, Remedy
from .path import Path, Way
from .place import Place
from .report import SCHEMA, Report
from .trace import Node, Owner, Parallel, Trace

__all__ = [
    "SCHEMA", "Binding", "Carrier", "Clear", "Cut", "Edit", "Executed", "Failure", "Finding", "Forward", "Gradient",
    "Holding", "Kept", "Loop", "Node", "Owner", "Parallel", "Pass", "Path", "Place", "Proof", "Remedy", "Report",
    "Step", "Stretch", "Switch", "Trace", "Way", "Write", "from_plain", "to_plain",
]  # fmt: skip
