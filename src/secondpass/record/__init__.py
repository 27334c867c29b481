# SPDX-License-Identifier: BSD-3-Clause
"""Plain frozen data: what producers say, what causes find, what renderers show. Imports nothing of ours."""

from ._plain import from_plain, to_plain
from .event import Cut, Failure, Holding, Loop, Pass, Sighting, Step, Write, ZeroGrad
from .finding import Carrier, Edit, Finding, Proof, Remedy
from .place import Place
from .report import SCHEMA, Report
from .trace import Node, Owner, Trace

__all__ = [
    "SCHEMA",
    "Carrier",
    "Cut",
    "Edit",
    "Failure",
    "Finding",
    "Holding",
    "Loop",
    "Node",
    "Owner",
    "Pass",
    "Place",
    "Proof",
    "Remedy",
    "Report",
    "Sighting",
    "Step",
    "Trace",
    "Write",
    "ZeroGrad",
    "from_plain",
    "to_plain",
]
