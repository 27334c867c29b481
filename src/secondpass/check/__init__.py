# SPDX-License-Identifier: BSD-3-Clause
"""Finds the faults that `run` finds by reading the code: it is neither imported nor executed, and torch is not needed."""

from .read import Settings, read

__all__ = ["Settings", "read"]
