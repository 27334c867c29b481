# SPDX-License-Identifier: BSD-3-Clause
"""Programs with what is wrong and what the repair looks like, in one file.

`#-` at the end of a line: only in the program as its author has it. `#+`: only in the repaired one. `@failed`,
`@freed`, `@built` name the places of the finding. The head says which kind of remedy is meant, for which cause and
carrier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from secondpass.record import Carrier, Finding, Place, Remedy

HERE = Path(__file__).parent / "cases"
_TAG = re.compile(r"\s*#(?=[-+@])([-+])?((?:\s*@\w+)*)\s*$")


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    before: str
    after: str
    finding: Finding


def read(path: Path) -> Case:
    head: dict[str, str] = {}
    before: list[str] = []
    after: list[str] = []
    places: dict[str, Place] = {}
    for line in path.read_text().splitlines():
        told = re.fullmatch(r"# (kind|cause|carrier): ?(.*)", line)
        if told:
            head[told.group(1)] = told.group(2)
            continue
        sign, names = "", ""
        tag = _TAG.search(line)
        if tag:
            sign, names, line = tag.group(1) or "", tag.group(2), line[: tag.start()]
        if sign != "+":
            before.append(line)
            places |= {n: Place("main.py", len(before)) for n in re.findall(r"@(\w+)", names)}
        if sign != "-":
            after.append(line)
    carrier = Carrier(head["carrier"]) if head["carrier"] else None
    remedy = Remedy(head["kind"], head["kind"], target=head["carrier"], place=places.get("failed"))
    finding = Finding(
        "SP000", head["cause"], "error", "", places.get("failed"), carrier, places.get("built"), places.get("freed"),
        places.get("failed"), remedies=(remedy,),
    )  # fmt: skip
    return Case(path.stem, head["kind"], "\n".join(before) + "\n", "\n".join(after) + "\n", finding)


CASES = [read(p) for p in sorted(HERE.glob("*.txt"))]
