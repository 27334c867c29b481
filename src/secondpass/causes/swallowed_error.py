# SPDX-License-Identifier: BSD-3-Clause
"""The program catches this very error and skips, retries or zeroes the step."""

from __future__ import annotations

from dataclasses import replace

from ..record import Finding

CODE = "SP407"
TITLE = "the program catches this very error and goes on"
REMEDIES = ("recompute", "detach")


def swallowed(finding: Finding, times: int) -> Finding:
    """What a finding becomes when the program did not end with its error."""
    often = f"{times} times" if times > 1 else "once"
    message = f"The program caught this error {often} and went on, so those steps were lost: {finding.message}"
    facts = {**finding.facts, "swallowed": finding.cause, "times": times}
    return replace(finding, code=CODE, cause="swallowed-error", severity="warning", message=message, facts=facts)
